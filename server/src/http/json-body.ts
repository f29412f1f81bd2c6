import { ApplicationError } from '../errors.ts'
import type { App } from './app.ts'

/** Takes JSON bodies only; an empty one counts as none, and none where the route has a schema for it is a 400. */
export function parseJsonBodies(app: App): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else void parse(request, body as string, done)
  })
  app.addHook('preValidation', ({ body, routeOptions }, _reply, done) => {
    const isMissing = body === undefined && routeOptions.schema?.body !== undefined
    done(
      isMissing ? new ApplicationError('malformed', 'malformed_json', 'A JSON body is required.') : undefined,
    )
  })
}
