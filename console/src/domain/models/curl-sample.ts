import type { ModelType } from '../../contract.ts'
import { writeJson } from './write-json.ts'

/** A request to an inference route. */
export interface SampleRequest {
  kind: (typeof sampleKinds)[ModelType]
  /** The server's origin, such as `https://berth.example`. */
  origin: string
  body: Record<string, unknown>
}

/** What to ask a model of each type. */
export const sampleKinds = { LLM: 'chat', embedding: 'embeddings', rerank: 'rerank' } as const

/** The inference routes after `/v1` */
export const samplePaths = {
  chat: '/chat/completions',
  embeddings: '/embeddings',
  rerank: '/rerank',
} as const

/** The request body of a first example. */
export function writeFirstBody(model: string, kind: SampleRequest['kind']): Record<string, unknown> {
  if (kind === 'embeddings') return { model, input: ['a ship', 'a harbour'] }
  if (kind === 'rerank') return { model, query: 'Where do ships go?', documents: ['a harbour', 'a desert'] }
  return { model, messages: [{ role: 'user', content: 'Hello!' }], stream: true }
}

/** Writes a command that sends the request with the session in BERTH_COOKIE. */
export function writeCurl({ kind, origin, body }: SampleRequest): string {
  return `curl -N ${origin}/v1${samplePaths[kind]} \\
  -b "$BERTH_COOKIE" \\
  -H 'content-type: application/json' \\
  -d ${toShellText(writeJson(body, { depth: 1, indent: '  ', write: JSON.stringify }))}`
}

function toShellText(text = ''): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
