import type { App } from '../../http/app.ts'
import { toVisitor } from '../../http/current-viewer.ts'
import { noContent } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { assertPasswordsAllowed, assertPasswordUncommon } from '../accounts/access-policy.ts'
import { changePassword } from './change-password.ts'
import { confirmPasswordReset, requestPasswordReset } from './password-reset.ts'
import {
  acceptedBody,
  passwordChangeBody,
  passwordResetBody,
  passwordResetRequestBody,
  resetBody,
} from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>

const tags = ['Accounts']

/** The routes with which a visitor sets a new password through an emailed link. */
export function passwordResetRoutes(app: App, deps: Deps): void {
  app.post(
    '/v1/auth/password-reset/request',
    {
      config: { networkLimit: true },
      schema: {
        operationId: 'requestPasswordReset',
        summary: 'Request a password reset link',
        description:
          'Always answers the same, whether or not the email has an account. If it has one, a reset link is emailed.',
        tags,
        security: [],
        body: passwordResetRequestBody,
        response: { 200: acceptedBody },
        errors: ['password_sign_in_disabled'],
      },
    },
    async (request) => {
      assertPasswordsAllowed(deps.config)
      await requestPasswordReset(deps, toVisitor(request), request.body.email)
      return { accepted: true as const }
    },
  )

  app.post(
    '/v1/auth/password-reset/confirm',
    {
      config: { networkLimit: true },
      schema: {
        operationId: 'confirmPasswordReset',
        summary: 'Set a new password with the token of a reset link',
        description:
          'Ends all sessions of the account. An unknown, used or expired token gives 400 `invalid_or_expired_token`.',
        tags,
        security: [],
        body: passwordResetBody,
        response: { 200: resetBody },
        errors: ['password_sign_in_disabled', 'invalid_or_expired_token'],
      },
    },
    async (request) => {
      assertPasswordsAllowed(deps.config)
      await assertPasswordUncommon(deps.config, 'password', request.body.password)
      await confirmPasswordReset(deps, toVisitor(request), request.body)
      return { reset: true as const }
    },
  )
}

/** The route with which a signed-in person changes their password. */
export function changePasswordRoute(
  app: App,
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs'>,
): void {
  app.post(
    '/v1/user/password',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'changePassword',
        summary: 'Change your password',
        description:
          'Ends your other sessions. A wrong current password is a 401 `invalid_credentials`, an account without a password a 409 ' +
          '`no_password`.',
        tags,
        body: passwordChangeBody,
        response: { 204: noContent },
        errors: ['password_sign_in_disabled', 'rate_limited', 'invalid_credentials', 'no_password'],
      },
    },
    async ({ body, viewer }, reply) => {
      assertPasswordsAllowed(deps.config)
      const { current_password: currentPassword, new_password: newPassword } = body
      await assertPasswordUncommon(deps.config, 'new_password', newPassword)
      await changePassword(deps, viewer, { currentPassword, newPassword })
      return reply.code(204).send(null)
    },
  )
}
