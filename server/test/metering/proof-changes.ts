import { createHash } from 'node:crypto'
import { toCanonicalJson } from '../../src/features/metering/seal.ts'

type Path = (string | number)[]

/** The paths of all values that are not objects or arrays. */
export function listValues(value: unknown, path: Path = []): Path[] {
  if (value === null || typeof value !== 'object') return [path]
  return Object.entries(value).flatMap(([name, member]) =>
    listValues(member, [...path, Array.isArray(value) ? Number(name) : name]),
  )
}

/** A copy of a document with another value at a path. */
export function changeValue(document: object, path: Path): any {
  const copy: any = structuredClone(document)
  const parent = path.slice(0, -1).reduce((part, name) => part[name], copy)
  const name = path.at(-1)!
  parent[name] = toOther(parent[name])
  return copy
}

function toOther(value: string | number | null): unknown {
  if (value === null) return '2025-12-31T23:00:00.000Z'
  if (typeof value === 'number') return value + 1
  const text = value
  if (/^\d{4}-.*Z$/.test(text)) return new Date(Date.parse(text) + 3_600_000).toISOString()
  if (/^[0-9a-f]{64}$/.test(text)) return (text.startsWith('0') ? '1' : '0') + text.slice(1)
  if (/^\d+(\.\d+)?$/.test(text)) return String(Number(text.slice(0, 12)) + 1)
  return `${text}x`
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A copy of a document whose chain and hash are right again, as of somebody who changed the document. */
export function forge(document: any): any {
  const { document_hash: _, ...copy } = structuredClone(document)
  const link = ({ hash: _hash, previous_hash: _previous, ...rest }: any, previous: string) => ({
    ...rest,
    previous_hash: previous,
    hash: sha256(previous + toCanonicalJson(rest)),
  })
  const first = copy.hours[0]?.previous_hash ?? '0'.repeat(64)
  let previous = first
  copy.hours = copy.hours.map((hour: any) => {
    const linked = link(hour, previous)
    previous = linked.hash
    return linked
  })
  copy.link = link(copy.link, first)
  return { ...copy, document_hash: sha256(copy.link.hash + toCanonicalJson(copy)) }
}

/** Values that decide neither about money nor about whose and which bill it is. */
const others = ['hash', 'previous_hash', 'document_hash', 'instance_id', 'sequence', 'valid_from', 'valid_to']

/** True for a value whose change the rules must find although all hashes are right. */
export function decidesAboutBill(path: Path): boolean {
  return !others.includes(String(path.at(-1)))
}
