/** The bytes of a file that a response has. */
export type ByteRange =
  | { kind: 'whole' }
  /** `end` is the position after the last byte. */
  | { kind: 'part'; start: number; end: number }
  | { kind: 'unsatisfiable' }

const whole: ByteRange = { kind: 'whole' }

/** Reads `Range` and `If-Range` (RFC 9110), without several or invalid ranges, other units and versions. */
export function readByteRange(
  { range, 'if-range': version }: { range?: string | undefined; 'if-range'?: string | undefined },
  { size, entityTag }: { size: number; entityTag: string },
): ByteRange {
  const [, first = '', last = ''] = /^bytes=(\d{0,16})-(\d{0,16})$/i.exec(range ?? '') ?? []
  if (first === '' && last === '') return whole
  if (version !== undefined && version !== entityTag) return whole
  if (first === '') return toRange(size - Math.min(Number(last), size), size, size)
  if (last !== '' && Number(last) < Number(first)) return whole
  return toRange(Number(first), last === '' ? size : Math.min(Number(last) + 1, size), size)
}

function toRange(start: number, end: number, size: number): ByteRange {
  return start >= size ? { kind: 'unsatisfiable' } : { kind: 'part', start, end }
}
