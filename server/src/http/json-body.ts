import { ApplicationError } from '../base/errors.ts'
import type { App } from './app.ts'

/** Accepts only JSON bodies. An empty body counts as missing: a 400 if the route has a body schema. */
export function parseJsonBodies(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else void parse(request, body as string, done)
  })
  app.addHook('preValidation', ({ body, routeOptions }, _reply, done) => {
    const isMissing = body === undefined && routeOptions.schema?.body !== undefined
    done(isMissing ? new ApplicationError('malformed_json', 'The request requires a JSON body.') : undefined)
  })
}
