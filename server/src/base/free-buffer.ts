/**
 * Frees a long buffer at once. Garbage collections would delay all requests where cores are few. Nothing may
 * read the buffer anymore, pending writes included. No effect on a part of an allocation.
 */
export function freeBuffer(bytes: Buffer): void {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && bytes.length === buffer.byteLength) buffer.transfer(0)
}
