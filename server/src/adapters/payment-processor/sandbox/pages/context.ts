import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Engine } from '../engine.ts'
import { SandboxError } from '../errors.ts'
import type { Addresses, PageSecrets } from '../secrets.ts'
import { findObject } from '../store.ts'
import type { ObjectType, ObjectTypes } from '../store.ts'
import { html, sendPage } from './html.ts'
import type { Html } from './html.ts'

export interface PageContext {
  engine: Engine
  secrets: PageSecrets
  addresses: Addresses
  /** The origin that the console has */
  publicOrigin: string
}

/** Something that a person is told on a page of its own. */
export class PageError extends Error {
  readonly status: number
  readonly title: string
  constructor(status: number, title: string, message: string) {
    super(message)
    this.status = status
    this.title = title
  }
}

/** The object whose secret stands in the address. */
export async function findBySecret<T extends ObjectType>(
  { engine, secrets }: PageContext,
  type: T,
  request: FastifyRequest,
): Promise<ObjectTypes[T]> {
  const { secret = '' } = request.params as { secret?: string }
  const id = secrets.read(secret)
  const object = id === null ? null : await findObject(engine.db, type, id)
  if (object === null) {
    throw new PageError(404, 'There is nothing here', 'This address is not right, or what it led to is gone.')
  }
  return object
}

/** The address of this request without its query, for the forms of its page. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? ''
}

export function formOf(request: FastifyRequest): Record<string, string> {
  return (request.body ?? {}) as Record<string, string>
}

export function show(
  { publicOrigin }: PageContext,
  reply: FastifyReply,
  title: string,
  body: Html,
  status = 200,
): FastifyReply {
  return sendPage(reply, publicOrigin, status, title, body)
}

/** Tells a person what they can do something about; all else goes to the server that these pages are part of. */
export function showError(context: PageContext, reply: FastifyReply, error: unknown): FastifyReply {
  const { status, title, message } = toPageError(error)
  return show(
    context,
    reply,
    title,
    html`<section>
      <h1>${title}</h1>
      <p>${message}</p>
    </section>`,
    status,
  )
}

function toPageError(error: unknown): PageError {
  if (error instanceof PageError) return error
  if (error instanceof SandboxError) return new PageError(error.status, 'This did not work', error.message)
  const { statusCode, message } = error as { statusCode?: number; message: string }
  if (statusCode === undefined || statusCode >= 500) throw error
  return new PageError(statusCode, 'This did not work', message)
}
