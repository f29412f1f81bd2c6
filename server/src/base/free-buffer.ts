/**
 * Frees the memory of a long buffer immediately. Otherwise only a garbage collection frees it, and V8 starts
 * one for every few of them, whose threads delay all requests where cores are few. Nothing may read the
 * buffer anymore, pending writes to sockets included. Has no effect on a part of a larger allocation.
 */
export function freeBuffer(bytes: Buffer): void {
  const { buffer } = bytes
  if (buffer instanceof ArrayBuffer && bytes.length === buffer.byteLength) buffer.transfer(0)
}
