// What current browsers have and older type definitions do not.
interface Window {
  DecompressionStream: new (format: string) => ReadableWritablePair<Uint8Array, Uint8Array>;
}
