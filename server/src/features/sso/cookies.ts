import type { Services } from '../../services.ts'

/** Lax even if the session cookie is Strict: the browser must send it when the provider redirects back. */
export function ssoCookieAttributes({ config: { sessionCookie } }: Pick<Services, 'config'>) {
  return { path: '/v1/sso', httpOnly: true, secure: sessionCookie.secure, sameSite: 'lax' } as const
}
