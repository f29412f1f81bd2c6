import { errorCodes } from 'fastify'
import type { FastifyRequest, RouteOptions } from 'fastify'
import { z } from 'zod'
import { ApplicationError } from '../base/errors.ts'
import type { App } from './app.ts'
import { unpackRequest } from './unpack-body.ts'

/** Accepts only JSON. An empty body of any type counts as `{}` if every field is optional, else a 400. */
export function parseJsonBodies(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    void unpackInto(request, body as Buffer, (error, text) => {
      if (error !== null || text === '') done(error, undefined)
      else void parse(request, text!, done)
    })
  })
  app.addContentTypeParser('*', ({ headers }, _payload, done) => {
    const isEmpty = headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
    if (isEmpty) done(null, undefined)
    else done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE(headers['content-type']))
  })
  app.addHook('preValidation', (request, _reply, done) => {
    const { body, routeOptions } = request
    if (body !== undefined || routeOptions.schema?.body === undefined) return done()
    if (!isBodyOptional(routeOptions)) {
      return done(new ApplicationError('malformed_json', 'The request requires a JSON body.'))
    }
    request.body = {}
    done()
  })
}

async function unpackInto(
  request: FastifyRequest,
  body: Buffer,
  done: (error: Error | null, text?: string) => void,
): Promise<void> {
  let plain: Buffer
  try {
    plain = await unpackRequest(request, body)
  } catch (error) {
    return done(error as Error)
  }
  done(null, plain.toString())
}

/** True if the route takes a body and accepts one without any field. */
export function isBodyOptional({ config, schema }: Pick<RouteOptions, 'config' | 'schema'>): boolean {
  const body = schema?.body
  return config?.readsRawBody !== true && body instanceof z.ZodType && body.safeParse({}).success
}
