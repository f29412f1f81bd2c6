import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { verifyEmail, requestEmailVerification } from './email-verification.ts'
import { acceptedBody, emailVerificationBody, verifiedBody } from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

const tags = ['Accounts']

/** The routes with which a signed-in person verifies their address. */
export function emailVerificationRoutes(app: App, deps: Deps): void {
  app.post(
    '/v1/user/email-verification/request',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'requestEmailVerification',
        summary: 'Email the link that verifies your address again',
        description: 'Does nothing if your address is verified. At most 5 emails an hour.',
        tags,
        response: { 200: acceptedBody },
        errors: ['rate_limited'],
      },
    },
    async ({ viewer }) => {
      await requestEmailVerification(deps, viewer)
      return { accepted: true as const }
    },
  )

  app.post(
    '/v1/user/email-verification/confirm',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'verifyEmail',
        summary: 'Verify your address with the token of the emailed link',
        description:
          'You must be signed in to the account of the link. A replaced or expired token gives 400 `invalid_or_expired_token`.',
        tags,
        body: emailVerificationBody,
        response: { 200: verifiedBody },
        errors: ['invalid_or_expired_token', 'verification_email_mismatch'],
      },
    },
    async ({ body, viewer }) => {
      await verifyEmail(deps, viewer, body.token)
      return { verified: true as const }
    },
  )
}
