import { createHmac, createSecretKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { deriveKey } from '../../../base/derive-key.ts'

const quote = 0x22
const backslash = 0x5c
/** Longer openings are cut, so that no request costs much. They are equal in their beginning, if at all. */
const maxOpeningBytes = 64 * 1024

/** The key of `hashOpening`, from the secret: callers can't choose requests that all go to one engine. */
export function derivePrefixKey(secretKey: string): KeyObject {
  // An HMAC with bytes as its key takes four times as long.
  return createSecretKey(deriveKey(secretKey, 'prefix-routing'))
}

/**
 * Hashes the start of a conversation: the messages up to a user's first one; null without one. `from`: offset
 * of the messages in `body`, which must be valid JSON. Other `scope`s have other hashes.
 */
export function hashOpening(
  key: KeyObject,
  scope: string,
  body: Buffer | string,
  from: number,
): number | null {
  const bytes =
    typeof body === 'string'
      ? Buffer.from(body.slice(from, from + maxOpeningBytes), 'latin1')
      : body.subarray(from, from + maxOpeningBytes)
  const end = findOpeningEnd(bytes)
  if (end === null) return null
  return createHmac('sha256', key)
    .update(`${scope}\0`)
    .update(bytes.subarray(0, end))
    .digest()
    .readUInt32LE(0)
}

/** The offset after a user's first message in a list; its length if cut before; null without one. */
function findOpeningEnd(bytes: Buffer): number | null {
  let depth = 0
  let isUser = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!
    if (byte === quote) {
      if (depth === 2 && isRoleOfUser(bytes, at)) isUser = true
      at = findEndOfString(bytes, at)
    } else if (byte === 0x5b || byte === 0x7b) {
      depth += 1
    } else if (byte === 0x5d || byte === 0x7d) {
      depth -= 1
      if (depth === 1 && isUser) return at + 1
      if (depth === 0) return null
    } else if (depth === 0) {
      // Not a list
      return null
    }
  }
  return bytes.length
}

/** Whether the member `"role":"user"` is at an offset */
function isRoleOfUser(bytes: Buffer, at: number): boolean {
  if (!isTextAt(bytes, at, '"role"')) return false
  const colon = skipSpaces(bytes, at + '"role"'.length)
  return bytes[colon] === 0x3a && isTextAt(bytes, skipSpaces(bytes, colon + 1), '"user"')
}

function isTextAt(bytes: Buffer, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1) {
    if (bytes[at + index] !== text.charCodeAt(index)) return false
  }
  return true
}

function skipSpaces(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at]! <= 0x20) at += 1
  return at
}

/** The offset of the quote that ends the string from `from`; the length if it is cut before. */
function findEndOfString(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(quote, from + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let backslashes = 0
    while (bytes[end - 1 - backslashes] === backslash) backslashes += 1
    if (backslashes % 2 === 0) return end
  }
  return bytes.length
}
