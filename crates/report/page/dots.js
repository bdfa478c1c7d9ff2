/** Many points as the pixels of one picture: without a graphics card a rectangle costs a canvas a microsecond and more. */

export class Dots {
  constructor() {
    this.canvas = document.createElement('canvas');
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
    this.image = this.context.createImageData(1, 1);
    this.ratio = 1;
  }

  /** @param {number} width CSS pixels @param {number} height @param {number} ratio dots for each */
  begin(width, height, ratio) {
    this.ratio = ratio;
    const [wide, high] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (this.image.width !== wide || this.image.height !== high) {
      this.canvas.width = wide;
      this.canvas.height = high;
      this.image = this.context.createImageData(wide, high);
    } else this.image.data.fill(0);
  }

  /**
   * A rectangle over what is there.
   * @param {number} x @param {number} y @param {number} width @param {number} height CSS pixels
   * @param {[number, number, number]} colour @param {number} alpha
   */
  rectangle(x, y, width, height, colour, alpha) {
    const { data, width: wide, height: high } = this.image;
    const { ratio } = this;
    const left = Math.max(0, Math.round(x * ratio));
    const right = Math.min(wide, Math.max(Math.round((x + width) * ratio), left + 1));
    const top = Math.max(0, Math.round(y * ratio));
    const bottom = Math.min(high, Math.max(Math.round((y + height) * ratio), top + 1));
    const [red, green, blue] = colour;
    for (let row = top; row < bottom; row += 1) {
      const end = (row * wide + right) * 4;
      for (let at = (row * wide + left) * 4; at < end; at += 4) {
        const before = data[at + 3];
        const mix = before === 0 ? 1 : alpha;
        data[at] += (red - data[at]) * mix;
        data[at + 1] += (green - data[at + 1]) * mix;
        data[at + 2] += (blue - data[at + 2]) * mix;
        data[at + 3] = before + (255 - before) * alpha;
      }
    }
  }

  /**
   * Puts them onto a picture.
   * @param {CanvasRenderingContext2D} context @param {{x: number, y: number, width: number, height: number}} into
   */
  end(context, into) {
    this.context.putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, into.x, into.y, into.width, into.height);
  }
}
