import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

/** They concern one connection only (RFC 9110). */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
/** The proxy's key and address, and what makes the server treat a program as a page of another site */
const ownOfRequest = new Set([
  ...hopByHop,
  'api-key',
  'authorization',
  'content-length',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'origin',
  'referer',
  'x-api-key',
])
const ownOfResponse = new Set([...hopByHop, 'set-cookie', 'strict-transport-security'])

/** They name the person whom a program serves, so only the one of `--member-header` is passed on. */
const namingMembers = new Set(['x-berth-member', 'x-openwebui-user-email', 'x-litellm-end-user-id'])

/** The headers that the server gets, with the session. */
export function toServerHeaders(
  headers: IncomingHttpHeaders,
  { cookie, length, memberHeader }: { cookie: string; length: number; memberHeader?: string | undefined },
): OutgoingHttpHeaders {
  const kept = keep(
    headers,
    (name) =>
      !ownOfRequest.has(name) &&
      (!namingMembers.has(name) || name === memberHeader?.toLowerCase()) &&
      !/^(sec-fetch-|x-forwarded-|access-control-)/.test(name),
  )
  return { ...kept, cookie, ...(length > 0 && { 'content-length': length }) }
}

/** The headers that the program gets, without the session. */
export function toProgramHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return keep(headers, (name) => !ownOfResponse.has(name) && !name.startsWith('access-control-'))
}

/** Without the headers that `connection` names, too. */
function keep(headers: IncomingHttpHeaders, isKept: (name: string) => boolean): OutgoingHttpHeaders {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/))
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isKept(name) && !named.has(name)))
}
