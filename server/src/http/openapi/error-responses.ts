import type { RouteOptions } from 'fastify'
import { z } from 'zod'
import { errorCodes } from '../../base/error-codes.ts'
import type { ErrorCode } from '../../base/error-codes.ts'
import { problemSchema, problemType, statusOf } from '../errors.ts'

declare module 'fastify' {
  interface FastifySchema {
    /** The route's own error codes, for OpenAPI; `impliedCodes` adds those of hooks and the framework. */
    errors?: readonly ErrorCode[]
    /** Codes that are a conflict on this route, and something else on others */
    conflicts?: readonly ErrorCode[]
    /** The shape of the route's errors if they are no problem details */
    errorBody?: z.ZodType
  }
  interface FastifyContextConfig {
    /** true if the schema of the body only documents it, because the route reads the bytes */
    readsRawBody?: boolean
  }
}

/** Codes of any route. The document describes them once, and not with each route. */
export const codesOfAnyRoute = [
  'malformed_request',
  'headers_too_large',
  'unknown_host',
  'internal_error',
  'server_stopping',
  'overloaded',
] as const satisfies readonly ErrorCode[]

const bodyCodes = [
  'malformed_json',
  'request_timeout',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_encoding',
] as const satisfies readonly ErrorCode[]

/** The codes that follow from a route's settings: those of the hooks, the body parser and the validator. */
function impliedCodes({ method, config = {}, schema = {} }: RouteOptions): ErrorCode[] {
  const {
    permission,
    admitsServices,
    operatorsOnly,
    requiresVerifiedEmail,
    networkLimit,
    csrf,
    readsRawBody,
    creates,
  } = config
  const isChange = method !== 'GET'
  const isForOrganization = permission !== undefined && permission !== null
  const implied = {
    database_unavailable: true,
    storage_full: true,
    csrf_rejected: isChange && csrf !== false,
    not_authenticated: permission !== undefined,
    network_not_allowed: permission !== undefined,
    people_only: admitsServices === false,
    forbidden: isForOrganization || operatorsOnly === true,
    second_factor_required: operatorsOnly === true,
    second_factor_setup_required: isForOrganization,
    organization_suspended: isForOrganization && isChange,
    email_unproven: requiresVerifiedEmail === true,
    rate_limited: networkLimit === true,
    idempotency_key_reused: creates !== undefined,
    request_in_progress: creates !== undefined,
    validation_failed:
      readsRawBody !== true && (schema.body !== undefined || schema.querystring !== undefined),
  } satisfies Partial<Record<ErrorCode, boolean>>
  const codes = (Object.keys(implied) as (keyof typeof implied)[]).filter((code) => implied[code])
  return isChange ? [...codes, ...bodyCodes] : codes
}

/** The responses of a route's errors: one for each status, whose description lists the codes. */
export function describeErrors(route: RouteOptions): Record<string, object> {
  const { errors = [], conflicts = [], errorBody = problemSchema } = route.schema ?? {}
  const codes = [...new Set([...impliedCodes(route), ...errors, ...conflicts])]
  const { operatorsOnly } = route.config ?? {}
  const byStatus = Map.groupBy(codes, (code) => {
    if (conflicts.includes(code)) return 409
    return code === 'second_factor_required' && operatorsOnly === true ? 403 : statusOf(code)
  })
  return Object.fromEntries(
    [...byStatus].map(([status, own]) => [status, describeResponse(own.toSorted(), errorBody)]),
  )
}

function describeResponse(codes: ErrorCode[], body: z.ZodType): object {
  const schema = { $ref: `#/components/schemas/${z.globalRegistry.get(body)?.id}` }
  return {
    description: codes.map((code) => `- \`${code}\`: ${errorCodes[code].meaning}`).join('\n'),
    ...(codes.some(hasRetryAfter) && { headers: { 'Retry-After': retryAfter } }),
    content: body === problemSchema ? describeProblem(schema, codes) : { 'application/json': { schema } },
  }
}

/** A problem has the same shape in both types. */
function describeProblem(schema: object, codes: ErrorCode[]): object {
  const content = { schema: { allOf: [schema, { properties: { code: { enum: codes } } }] } }
  return { 'application/json': content, [problemType]: content }
}

const retryAfter = { type: 'integer', minimum: 1, description: 'Seconds until a retry may succeed' }

function hasRetryAfter(code: ErrorCode): boolean {
  const { kind } = errorCodes[code]
  return kind === 'unavailable' || kind === 'rate_limited' || code === 'request_in_progress'
}

interface Described {
  paths?: Record<string, Record<string, unknown> | undefined>
  components?: { responses?: Record<string, unknown> }
}

interface ErrorResponse {
  description: string
  content: { 'application/json'?: { schema: { $ref?: string } } }
}

/** Moves error responses to the components, named after their codes, because most routes share theirs. */
export function shareErrorResponses<Document>(document: Document): Document {
  const { paths = {}, components } = document as Described
  const shared: Record<string, unknown> = {}
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path ?? {}))) {
    const { responses } = operation as { responses: Record<string, ErrorResponse> }
    for (const [status, response] of Object.entries(responses)) {
      if (Number(status) < 400) continue
      const codes = Array.from(response.description.matchAll(/^- `(\w+)`/gm), ([, code]) =>
        toPascalCase(code!),
      )
      const shape = response.content['application/json']?.schema.$ref?.split('/').at(-1) ?? ''
      const name = shape.replace(/Error$/, '') + codes.join('Or')
      shared[name] = response
      responses[status] = { $ref: `#/components/responses/${name}` } as never
    }
  }
  const responses = Object.fromEntries(
    Object.entries(shared).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  )
  return { ...document, components: { ...components, responses } }
}

function toPascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)(\w)/g, (_match, letter: string) => letter.toUpperCase())
}
