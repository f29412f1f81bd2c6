import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import type { App } from '../../http/app.ts'
import { joinResponse } from '../../http/creation.ts'
import { noContent } from '../../http/openapi/responses.ts'
import type { Services } from '../../services.ts'
import { assertPasswordsAllowed } from '../accounts/access-policy.ts'
import { addPasskey, startPasskey } from './enroll-passkey.ts'
import { startTotp, verifyTotp } from './enroll-totp.ts'
import { listOwnFactors } from './list-factors.ts'
import { challengeOwnPasskey } from './reauthenticate.ts'
import { removePasskey, removeTotp } from './remove-factors.ts'
import { rotateRecoveryCodes } from './rotate-recovery-codes.ts'
import { reauthenticationErrors } from './errors.ts'
import {
  verificationBody,
  factorAddedBody,
  newPasskeyBody,
  passkeyChallengeBody,
  passkeyParams,
  passkeySetupBody,
  reauthenticationBody,
  recoveryCodesBody,
  secondFactorsBody,
  toSecondFactorsBody,
  totpSetupBody,
} from './schemas.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>

const tags = ['Accounts']

const reauthentication =
  'The body has your password, a code of your second factor, or a passkey; a wrong one is a 401 `invalid_credentials`, `invalid_code` or `invalid_passkey`.'

/** The routes with which a signed-in person manages their second factors. */
export function secondFactorRoutes(app: App, deps: Deps): void {
  app.get(
    '/v1/user/second-factors',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'listSecondFactors',
        summary: 'List your second factors',
        tags,
        response: { 200: secondFactorsBody },
      },
    },
    async ({ viewer }) => toSecondFactorsBody(await listOwnFactors(deps, viewer)),
  )

  app.post(
    '/v1/user/second-factors/totp',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'startTotp',
        summary: 'Start to set up an authenticator app',
        description: `Sign-ins ask for its codes after you enter the first one within 15 minutes. ${reauthentication} An account without a password: 409 \`no_password\`.`,
        tags,
        body: reauthenticationBody,
        response: { 200: totpSetupBody },
        errors: ['password_sign_in_disabled', ...reauthenticationErrors, 'authenticator_app_exists'],
      },
    },
    async ({ body, viewer }) => {
      assertPasswordsAllowed(deps.config)
      return startTotp(deps, viewer, body)
    },
  )

  app.post(
    '/v1/user/second-factors/totp/verify',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'verifyTotp',
        summary: 'Verify the first code of your authenticator app, which takes the app into use',
        description: 'Ends your other sessions. A wrong code is a 401 `invalid_code`.',
        tags,
        body: verificationBody,
        response: { 200: factorAddedBody },
        errors: ['rate_limited', 'invalid_code', 'setup_not_started', 'second_factor_unreadable'],
      },
    },
    async ({ body, viewer }) => ({ recovery_codes: await verifyTotp(deps, viewer, body.code) }),
  )

  app.delete(
    '/v1/user/second-factors/totp',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'deleteTotp',
        summary: 'Delete your authenticator app',
        description: `Ends your other sessions. ${reauthentication}`,
        tags,
        body: reauthenticationBody,
        response: { 204: noContent },
        errors: [...reauthenticationErrors, 'no_second_factor'],
      },
    },
    async ({ body, viewer }, reply) => {
      await removeTotp(deps, viewer, body)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/v1/user/second-factors/recovery-codes',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'rotateRecoveryCodes',
        summary: 'Rotate your recovery codes',
        description: reauthentication,
        tags,
        body: reauthenticationBody,
        response: { 200: recoveryCodesBody },
        errors: [...reauthenticationErrors, 'no_second_factor'],
      },
    },
    async ({ body, viewer }) => ({ recovery_codes: await rotateRecoveryCodes(deps, viewer, body) }),
  )

  app.post(
    '/v1/user/second-factors/passkeys/start',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'startPasskey',
        summary: 'Start to add a passkey',
        description: `The options work once, within five minutes. ${reauthentication}`,
        tags,
        body: reauthenticationBody,
        response: { 200: passkeySetupBody },
        errors: ['password_sign_in_disabled', ...reauthenticationErrors, 'too_many_passkeys'],
      },
    },
    async ({ body, viewer }) => {
      assertPasswordsAllowed(deps.config)
      return { options: { ...(await startPasskey(deps, viewer, body)) } }
    },
  )

  app.post(
    '/v1/user/second-factors/passkeys',
    {
      config: { permission: null, admitsServices: false, creates: 'atomically' },
      schema: {
        operationId: 'addPasskey',
        summary: 'Add a passkey that your browser created',
        description: 'Ends your other sessions. An invalid or late response is a 401 `invalid_passkey`.',
        tags,
        body: newPasskeyBody,
        response: { 200: factorAddedBody },
        errors: ['invalid_passkey', 'passkey_exists'],
      },
    },
    async (request) => {
      const { body, viewer } = request
      const passkey = { name: body.name, response: body.response as RegistrationResponseJSON }
      const { recoveryCodes } = await addPasskey(joinResponse(deps, request), viewer, passkey)
      return { recovery_codes: recoveryCodes }
    },
  )

  app.post(
    '/v1/user/second-factors/passkeys/challenge',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'challengePasskey',
        summary: 'Get a challenge for your passkey, in place of your password',
        description:
          'Its signature confirms one action of this session, within five minutes, as `passkey` where a body takes your password. ' +
          'It does not sign in. A later challenge replaces it. Without a passkey: 409 `no_second_factor`.',
        tags,
        response: { 200: passkeyChallengeBody },
        errors: ['no_second_factor'],
      },
    },
    async ({ viewer }) => ({ options: { ...(await challengeOwnPasskey(deps, viewer)) } }),
  )

  app.delete(
    '/v1/user/second-factors/passkeys/:passkey_id',
    {
      config: { permission: null, admitsServices: false },
      schema: {
        operationId: 'deletePasskey',
        summary: 'Delete a passkey',
        description: `Ends your other sessions. ${reauthentication}`,
        tags,
        params: passkeyParams,
        body: reauthenticationBody,
        response: { 204: noContent },
        errors: [...reauthenticationErrors, 'not_found'],
      },
    },
    async ({ params, body, viewer }, reply) => {
      await removePasskey(deps, viewer, params.passkey_id, body)
      return reply.code(204).send(null)
    },
  )
}
