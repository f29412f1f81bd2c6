import type { FastifyReply, FastifyRequest } from 'fastify'
import { SandboxError } from '../errors.ts'
import type { ObjectType, ObjectTypes } from '../object-types.ts'
import { findObject } from '../objects.ts'
import type { PageLinks } from '../page-links.ts'
import type { Store } from '../store.ts'
import { html, sendPage } from './html.ts'
import type { Html } from './html.ts'

export interface PageContext {
  store: Store
  links: PageLinks
}

/** An error with an error page for the person. */
export class PageError extends Error {
  readonly status: number
  readonly title: string
  constructor(status: number, title: string, message: string) {
    super(message)
    this.status = status
    this.title = title
  }
}

export function notFound(): PageError {
  return new PageError(404, 'Page not found', 'This link is not valid. Go back to billing and open it again.')
}

/** The object whose secret is in the URL. */
export async function findBySecret<T extends ObjectType>(
  { store, links }: PageContext,
  type: T,
  request: FastifyRequest,
): Promise<ObjectTypes[T]> {
  const { secret = '' } = request.params as { secret?: string }
  const id = links.readSecret(secret)
  const object = id === null ? null : await findObject(store.db, type, id)
  if (object === null) throw notFound()
  return object
}

/** The URL's path, for the forms of the page. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? ''
}

export function formOf(request: FastifyRequest): Record<string, string> {
  return (request.body ?? {}) as Record<string, string>
}

export function show(
  _context: PageContext,
  reply: FastifyReply,
  title: string,
  body: Html,
  status = 200,
): FastifyReply {
  return sendPage(reply, status, title, body)
}

/** Shows a client error; rethrows any other for the server that registers the pages. */
export function showError(context: PageContext, reply: FastifyReply, error: unknown): FastifyReply {
  const { status, title, message } = toPageError(error)
  const body = html`<section>
    <h1>${title}</h1>
    <p>${message}</p>
  </section>`
  return show(context, reply, title, body, status)
}

function toPageError(error: unknown): PageError {
  if (error instanceof PageError) return error
  if (error instanceof SandboxError) return new PageError(error.status, 'Request failed', error.message)
  const { statusCode, message } = error as { statusCode?: number; message: string }
  if (statusCode === undefined || statusCode >= 500) throw error
  return new PageError(statusCode, 'Request failed', message)
}
