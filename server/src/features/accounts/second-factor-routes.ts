import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import type { App } from '../../http/app.ts'
import { bodyProblems, problems, protectedProblems } from '../../http/openapi.ts'
import type { Services } from '../../services.ts'
import { addPasskey, beginPasskey } from './factors/enroll-passkey.ts'
import { beginTotp, confirmTotp } from './factors/enroll-totp.ts'
import { listOwnFactors } from './factors/list-factors.ts'
import { removePasskey, removeTotp } from './factors/remove-factors.ts'
import { renewRecoveryCodes } from './factors/renew-recovery-codes.ts'
import { assertPasswordsAllowed } from './registration-policy.ts'
import {
  confirmationBody,
  factorAddedBody,
  newPasskeyBody,
  passkeyParams,
  passkeySetupBody,
  reauthenticationBody,
  recoveryCodesBody,
  secondFactorsBody,
  toSecondFactorsBody,
  totpSetupBody,
} from './second-factor-schemas.ts'

const tags = ['Accounts']

const reauthentication =
  'The body has your password, or a code of your second factor; a wrong one is a 401 `invalid_credentials` or `invalid_code`.'

const changeProblems = { ...protectedProblems, ...bodyProblems, ...problems(409, 429) }

/** The routes with which a signed-in person manages their second factors. */
export function secondFactorRoutes(
  app: App,
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'secretKey'>,
): void {
  app.get(
    '/v1/user/second-factors',
    {
      config: { permission: null },
      schema: {
        operationId: 'listSecondFactors',
        summary: 'List your second factors',
        tags,
        response: { 200: secondFactorsBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => toSecondFactorsBody(await listOwnFactors(deps, viewer)),
  )

  app.post(
    '/v1/user/second-factors/totp',
    {
      config: { permission: null },
      schema: {
        operationId: 'startTotp',
        summary: 'Start to set up an authenticator app',
        description: `Sign-ins ask for its codes after you confirm the first one within 15 minutes. ${reauthentication} An account without a password: 409 \`no_password\`.`,
        tags,
        body: reauthenticationBody,
        response: { 200: totpSetupBody, ...changeProblems },
      },
    },
    async ({ body, viewer }) => {
      assertPasswordsAllowed(deps.config)
      return beginTotp(deps, viewer, body)
    },
  )

  app.post(
    '/v1/user/second-factors/totp/confirm',
    {
      config: { permission: null },
      schema: {
        operationId: 'confirmTotp',
        summary: 'Take your authenticator app into use with its first code',
        description: 'Ends your other sessions. A wrong code is a 401 `invalid_code`.',
        tags,
        body: confirmationBody,
        response: { 200: factorAddedBody, ...changeProblems },
      },
    },
    async ({ body, viewer }) => ({ recovery_codes: await confirmTotp(deps, viewer, body.code) }),
  )

  app.delete(
    '/v1/user/second-factors/totp',
    {
      config: { permission: null },
      schema: {
        operationId: 'removeTotp',
        summary: 'Remove your authenticator app',
        description: `Ends your other sessions. ${reauthentication}`,
        tags,
        body: reauthenticationBody,
        response: { 204: z.null(), ...changeProblems },
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
      config: { permission: null },
      schema: {
        operationId: 'renewRecoveryCodes',
        summary: 'Replace your recovery codes',
        description: reauthentication,
        tags,
        body: reauthenticationBody,
        response: { 200: recoveryCodesBody, ...changeProblems },
      },
    },
    async ({ body, viewer }) => ({ recovery_codes: await renewRecoveryCodes(deps, viewer, body) }),
  )

  app.post(
    '/v1/user/second-factors/passkeys/start',
    {
      config: { permission: null },
      schema: {
        operationId: 'startPasskey',
        summary: 'Start to add a passkey',
        description: `The options work once, within five minutes. ${reauthentication}`,
        tags,
        body: reauthenticationBody,
        response: { 200: passkeySetupBody, ...changeProblems },
      },
    },
    async ({ body, viewer }) => {
      assertPasswordsAllowed(deps.config)
      return { options: { ...(await beginPasskey(deps, viewer, body)) } }
    },
  )

  app.post(
    '/v1/user/second-factors/passkeys',
    {
      config: { permission: null },
      schema: {
        operationId: 'addPasskey',
        summary: 'Add a passkey that your browser created',
        description: 'Ends your other sessions. An invalid or late response is a 401 `invalid_passkey`.',
        tags,
        body: newPasskeyBody,
        response: { 200: factorAddedBody, ...changeProblems },
      },
    },
    async ({ body, viewer }) => {
      const response = body.response as RegistrationResponseJSON
      const { recoveryCodes } = await addPasskey(deps, viewer, { name: body.name, response })
      return { recovery_codes: recoveryCodes }
    },
  )

  app.delete(
    '/v1/user/second-factors/passkeys/:passkey_id',
    {
      config: { permission: null },
      schema: {
        operationId: 'removePasskey',
        summary: 'Remove a passkey',
        description: `Ends your other sessions. ${reauthentication}`,
        tags,
        params: passkeyParams,
        body: reauthenticationBody,
        response: { 204: z.null(), ...changeProblems, ...problems(404) },
      },
    },
    async ({ params, body, viewer }, reply) => {
      await removePasskey(deps, viewer, params.passkey_id, body)
      return reply.code(204).send(null)
    },
  )
}
