/** When what is drawn: pictures in the window first, as many as a frame has room for; the rest when nobody waits. */

/** So long may drawing, or work in pieces, hold up the window, unless one picture takes longer; ms. */
const BUDGET = 8;

/** What the tests read: pictures drawn, the last one's points, the most points of any, and what is still to be done. */
export const frames = { drawn: 0, touched: 0, most: 0, waiting: 0 };

/** @typedef {{near: boolean, frame: () => void}} Drawn */
/** @typedef {Generator<undefined, void, undefined>} Work what has to be done, in pieces of a millisecond or so */

/** @type {Set<Drawn>} */
const wanted = new Set();
/** @type {Work[]} */
const work = [];
let isAsked = false;
let isWorking = false;

/** @param {Drawn} picture to be drawn anew */
export function ask(picture) {
  wanted.add(picture);
  go();
}

/** @param {Work} pieces of work */
export function later(pieces) {
  work.push(pieces);
  go();
}

/** Nothing that was asked for is wanted any more. */
export function forget() {
  wanted.clear();
  work.length = 0;
  frames.waiting = 0;
}

function go() {
  frames.waiting = wanted.size + work.length;
  if (!isAsked && [...wanted].some((one) => one.near)) {
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
      go();
    });
  }
  if (!isWorking && frames.waiting > 0) {
    isWorking = true;
    setTimeout(() => {
      isWorking = false;
      onward();
      go();
    });
  }
}

/** Those in the window: who was asked first comes first, so that each has its turn. */
function draw() {
  const until = performance.now() + BUDGET;
  for (const picture of wanted) {
    if (!picture.near) continue;
    wanted.delete(picture);
    picture.frame();
    if (performance.now() > until) return;
  }
}

/** Work, then one of the pictures outside of the window. */
function onward() {
  const until = performance.now() + BUDGET;
  while (work.length > 0) {
    if (work[0].next().done) work.shift();
    if (performance.now() > until) return;
  }
  if (isAsked) return;
  for (const picture of wanted) {
    wanted.delete(picture);
    picture.frame();
    return;
  }
}

/** Until the window has had its turn. @returns {Promise<void>} */
export function breath() {
  return new Promise((done) => { setTimeout(done); });
}
