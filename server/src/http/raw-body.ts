import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Viewer } from '../base/viewer.ts'
import { freeBuffer } from '../base/free-buffer.ts'
import { bodyTooLarge } from './body-too-large.ts'
import { readCoding, unpackBody } from './unpack-body.ts'
import type { Coding } from './unpack-body.ts'

/** The parts of a request that the parser of its body uses. */
export interface BodySender {
  headers: IncomingHttpHeaders
  viewer: Viewer
  bodyHold?: BodyHold | null
}

export type RawBodyParser = ReturnType<typeof parseRawBodies>

type Done = (error: Error | null, body?: Buffer) => void

/** The judge sees no more than this, and the piece that arrives with it. */
const judgedBytes = 16 * 1024

/** The memory that a body takes. */
export interface BodyHold {
  /** Called before bytes are kept. Throws if they would be too many. */
  grow(bytes: number): void
  release(): void
  /** The sender may call the model that the body names. */
  reachedModel(): void
  /** The sender has reached a model before. */
  isKnown: boolean
}

/** Judges a counted body by its start: resolves to the error that refuses it, or null. Null to see more. */
export type BodyJudge = (request: BodySender, start: Buffer) => Promise<Error | null> | null

/**
 * Parses bodies of up to `limit` bytes; undefined for an empty one. Unlike Fastify's parser, it doesn't copy
 * a body of one chunk: for a long prompt, that takes longer than parsing. `hold` counts a body's memory,
 * which the parser releases if it fails; an unknown length is `Infinity`. `judge` may refuse a counted body
 * before it is complete. Compressed bodies are unpacked.
 */
export function parseRawBodies(
  limit: number,
  hold: (request: BodySender, length: number) => BodyHold | null = () => null,
  judge: BodyJudge = () => null,
) {
  return (request: BodySender, payload: IncomingMessage, done: Done): void => {
    const length = Number(request.headers['content-length'] ?? Infinity)
    const isKnown = Number.isFinite(length)
    let coding: Coding | null
    let held: BodyHold | null
    try {
      coding = readCoding(request.headers['content-encoding'])
      if (isKnown && length > limit) throw bodyTooLarge(limit)
      held = hold(request, coding === null ? length : Infinity)
      if (isKnown) held?.grow(length)
    } catch (error) {
      return done(error as Error)
    }
    const pass = coding === null ? done : unpackFor(coding, limit, held, done)
    const chunks: Buffer[] = []
    // Chunks of a known length are copied on arrival: one copy of a long body would block the process.
    let whole: Buffer | null = null
    let size = 0
    /** Where the judge looks next, because looking at every piece of the start would take long */
    let judgedAt = held === null || coding !== null ? Infinity : 1
    let isFinished = false
    const finish: Done = (error, body) => {
      if (isFinished) return
      isFinished = true
      payload.off('data', take).off('end', end).off('error', fail).off('close', leave)
      if (error !== null) held?.release()
      pass(error, body)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) return finish(bodyTooLarge(limit))
      try {
        if (!isKnown) held?.grow(chunk.length)
      } catch (error) {
        return finish(error as Error)
      }
      if (isKnown && chunk.length < length) {
        whole ??= Buffer.allocUnsafeSlow(length)
        chunk.copy(whole, size - chunk.length)
        freeBuffer(chunk)
      } else chunks.push(chunk)
      // Don't wait for the end event.
      if (size === length) return end()
      if (size >= judgedAt) judgeStart()
    }
    const judgeStart = () => {
      judgedAt = size < judgedBytes ? size * 2 : Infinity
      const judged = judge(request, whole?.subarray(0, size) ?? Buffer.concat(chunks, size))
      if (judged === null) return
      judgedAt = Infinity
      judged.then((error) => error !== null && finish(error), finish)
    }
    const end = () => {
      if (isKnown && whole !== null) finish(null, whole.subarray(0, size))
      else finish(null, chunks.length > 1 ? Buffer.concat(chunks, size) : chunks[0])
    }
    const fail = (error: Error) => finish(Object.assign(error, { statusCode: 400 }))
    const leave = () => fail(new Error('the caller disconnected'))
    // A short body arrives with its head, and is complete in the next tick. Listening would take longer.
    process.nextTick(() => {
      if (payload.destroyed) return leave()
      const first = payload.read() as Buffer | null
      if (first !== null && first.length === length) return pass(null, first)
      payload.on('data', take).on('end', end).on('error', fail).on('close', leave)
      if (first !== null) take(first)
    })
  }
}

/** Returns the `done` for a compressed body. */
function unpackFor(coding: Coding, limit: number, held: BodyHold | null, done: Done): Done {
  const unpack = async (packed: Buffer) => {
    let body: Buffer
    try {
      body = await unpackBody(packed, coding, limit, (bytes) => held?.grow(bytes))
    } catch (error) {
      held?.release()
      return done(error as Error)
    }
    done(null, body)
  }
  return (error, packed) => {
    if (error !== null || packed === undefined) done(error, packed)
    else void unpack(packed)
  }
}
