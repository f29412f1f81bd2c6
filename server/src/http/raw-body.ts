import { errorCodes } from 'fastify'
import type { FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'

type Done = (error: Error | null, body?: Buffer) => void

/**
 * A Fastify body parser for up to `limit` bytes; undefined for an empty body. Unlike Fastify's own parser, it doesn't copy a body that
 * arrives in one chunk: for a long prompt, the copy would take longer than parsing.
 */
export function parseRawBodies(limit: number) {
  return (request: FastifyRequest, payload: IncomingMessage, done: Done): void => {
    const length = Number(request.headers['content-length'])
    if (length > limit) return done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
    const chunks: Buffer[] = []
    let size = 0
    const finish: Done = (error, body) => {
      payload.off('data', take).off('end', end).off('error', fail)
      done(error, body)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > limit) finish(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
      // Don't wait for the end event.
      else if (size === length) end()
    }
    const end = () => finish(null, chunks.length > 1 ? Buffer.concat(chunks, size) : chunks[0])
    const fail = (error: Error) => finish(Object.assign(error, { statusCode: 400 }))
    payload.on('data', take).on('end', end).on('error', fail)
  }
}
