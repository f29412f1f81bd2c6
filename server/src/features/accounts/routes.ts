import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  clearSessionCookie,
  notAuthenticated,
  readSessionToken,
  setSessionCookie,
  toVisitor,
} from '../../http/current-viewer.ts'
import { bodyProblems, problems, protectedProblems } from '../../http/openapi.ts'
import type { App } from '../../http/app.ts'
import type { Services } from '../../services.ts'
import { confirmEmailVerification, requestEmailVerification } from './email-verification.ts'
import type { ShownFactor } from './factors/check-factor.ts'
import { confirmPasswordReset, requestPasswordReset } from './password-reset.ts'
import { updateProfile } from './update-profile.ts'
import { registerAccount } from './register-account.ts'
import { assertPasswordsAllowed } from './registration-policy.ts'
import {
  acceptedBody,
  emailVerificationBody,
  passwordResetBody,
  passwordResetRequestBody,
  profileBody,
  profileChangesBody,
  registerBody,
  resetBody,
  sessionBody,
  signInBody,
  signedOutBody,
  toSessionBody,
  verifiedBody,
} from './schemas.ts'
import { getUser } from './store.ts'
import { findViewer, signOut, startSession } from './sessions.ts'
import { invalidCredentials, signIn } from './sign-in.ts'

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'secretKey'>

const tags = ['Accounts']

export function publicAccountRoutes(app: App, deps: Deps): void {
  const { sessionCookie } = deps.config

  async function answerWithSession(
    request: FastifyRequest,
    reply: FastifyReply,
    account: { userId: number; passwordHash: string; secondFactor?: ShownFactor | null },
  ) {
    const replaces = readSessionToken(request, sessionCookie)
    const { token, expiresAt } = await startSession(deps, toVisitor(request), {
      ...account,
      authMethod: 'password',
      replaces,
    })
    const found = await findViewer(deps, token)
    // A concurrent password reset may have ended the new session already.
    if (found === null) throw invalidCredentials()
    setSessionCookie(reply, sessionCookie, token, expiresAt)
    return toSessionBody(found.viewer)
  }

  app.post(
    '/v1/user/register',
    {
      config: { networkLimit: 'registration' },
      schema: {
        operationId: 'register',
        summary: 'Create an account with a new organization, and sign in',
        tags,
        security: [],
        body: registerBody,
        response: { 200: sessionBody, ...bodyProblems, ...problems(403, 409, 429) },
      },
    },
    async (request, reply) => {
      assertPasswordsAllowed(deps.config)
      const { first_name, last_name, contact_number, ...body } = request.body
      const account = await registerAccount(deps, toVisitor(request), {
        email: body.email,
        password: body.password,
        organization: body.organization,
        name: body.name ?? null,
        firstName: first_name ?? null,
        lastName: last_name ?? null,
        country: body.country ?? null,
        contactNumber: contact_number ?? null,
      })
      return answerWithSession(request, reply, account)
    },
  )

  app.post(
    '/v1/user/signin',
    {
      config: { networkLimit: 'public' },
      schema: {
        operationId: 'signIn',
        summary: 'Sign in with email and password',
        description:
          'An account with a second factor needs a `code` or a `passkey` too. Without it: 401 `second_factor_required`; with a wrong one: 401 ' +
          '`invalid_code` or `invalid_passkey`.',
        tags,
        security: [],
        body: signInBody,
        response: { 200: sessionBody, ...bodyProblems, ...problems(401, 403, 429) },
      },
    },
    async (request, reply) => {
      assertPasswordsAllowed(deps.config)
      const { passkey, ...credentials } = request.body
      const shown = { ...credentials, passkey: passkey as AuthenticationResponseJSON | undefined }
      return answerWithSession(request, reply, await signIn(deps, toVisitor(request), shown))
    },
  )
}

export function passwordResetRoutes(app: App, deps: Deps): void {
  app.post(
    '/v1/auth/password-reset/request',
    {
      config: { networkLimit: 'public' },
      schema: {
        operationId: 'requestPasswordReset',
        summary: 'Request a password reset link',
        description:
          'Always answers the same, whether or not the email has an account. If it has one, a reset link is emailed.',
        tags,
        security: [],
        body: passwordResetRequestBody,
        response: { 200: acceptedBody, ...bodyProblems, ...problems(403, 429) },
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
      config: { networkLimit: 'public' },
      schema: {
        operationId: 'confirmPasswordReset',
        summary: 'Set a new password with the token of a reset link',
        description:
          'Ends all sessions of the account. An unknown, used or expired token gives 400 `invalid_or_expired_token`.',
        tags,
        security: [],
        body: passwordResetBody,
        response: { 200: resetBody, ...bodyProblems, ...problems(403, 429) },
      },
    },
    async (request) => {
      assertPasswordsAllowed(deps.config)
      await confirmPasswordReset(deps, toVisitor(request), request.body)
      return { reset: true as const }
    },
  )
}

export function accountRoutes(app: App, deps: Deps): void {
  const { sessionCookie } = deps.config

  app.get(
    '/v1/auth/session',
    {
      config: { permission: null },
      schema: {
        operationId: 'getSession',
        summary: 'Get the current session',
        tags,
        response: { 200: sessionBody, ...protectedProblems },
      },
    },
    (request) => toSessionBody(request.viewer),
  )

  app.get(
    '/v1/user/profile',
    {
      config: { permission: null },
      schema: {
        operationId: 'getProfile',
        summary: 'Get your profile',
        tags,
        response: { 200: profileBody, ...protectedProblems },
      },
    },
    async ({ viewer }) => {
      const { created_at, ...profile } = await getUser(deps.db, viewer.userId)
      return { ...profile, created_at: created_at.toISOString() }
    },
  )

  app.patch(
    '/v1/user/profile',
    {
      config: { permission: null },
      schema: {
        operationId: 'updateProfile',
        summary: 'Update your profile, or switch to another organization',
        tags,
        body: profileChangesBody,
        response: { 200: sessionBody, ...bodyProblems, ...protectedProblems, ...problems(404, 409) },
      },
    },
    async (request) => {
      const { first_name, last_name, contact_number, current_organization_id, ...body } = request.body
      await updateProfile(deps, request.viewer, {
        ...body,
        firstName: first_name,
        lastName: last_name,
        contactNumber: contact_number,
        currentOrganizationId: current_organization_id,
      })
      const token = readSessionToken(request, sessionCookie)
      const found = token === null ? null : await findViewer(deps, token)
      if (found === null) throw notAuthenticated()
      return toSessionBody(found.viewer)
    },
  )

  app.post(
    '/v1/user/email-verification/request',
    {
      config: { permission: null },
      schema: {
        operationId: 'requestEmailVerification',
        summary: 'Email the link that proves your address again',
        description: 'Does nothing if your address is proven. At most 5 emails an hour.',
        tags,
        response: { 200: acceptedBody, ...protectedProblems, ...problems(429) },
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
      config: { permission: null },
      schema: {
        operationId: 'confirmEmailVerification',
        summary: 'Prove your address with the token of the emailed link',
        description:
          'You must be signed in to the account of the link. A replaced or expired token gives 400 `invalid_or_expired_token`.',
        tags,
        body: emailVerificationBody,
        response: { 200: verifiedBody, ...bodyProblems, ...protectedProblems },
      },
    },
    async ({ body, viewer }) => {
      await confirmEmailVerification(deps, viewer, body.token)
      return { verified: true as const }
    },
  )

  app.post(
    '/v1/user/logout',
    {
      config: { permission: null },
      schema: {
        operationId: 'logOut',
        summary: 'Sign out',
        tags,
        response: { 200: signedOutBody, ...protectedProblems },
      },
    },
    async (request, reply) => {
      const token = readSessionToken(request, sessionCookie)
      if (token !== null) await signOut(deps, request.viewer, token)
      clearSessionCookie(reply, sessionCookie)
      return { authenticated: false as const }
    },
  )
}
