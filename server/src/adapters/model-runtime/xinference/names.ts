import { createHash } from 'node:crypto'

/** A stable name for a cluster or a host that doesn't tell its address, such as `xinference-5f0c1a9e`. */
export function nameAddress(kind: 'xinference' | 'host', address: string): string {
  return `${kind}-${createHash('sha256').update(address).digest('hex').slice(0, 8)}`
}
