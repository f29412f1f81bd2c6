import { z } from 'zod'
import { pathId, text, timestamp, unicodeText } from '../../http/schemas.ts'
import { roleIds } from '../../roles.ts'
import type { RoleName } from '../../roles.ts'
import type { Viewer } from '../../viewer.ts'
import { isCommonPassword } from './common-passwords.ts'
import { foldsIntoAscii } from './email-folding.ts'
import { passwordBytes } from './passwords.ts'
import { factorCode, passkeySignature } from './second-factor-schemas.ts'
import type { OwnSession } from './session-store.ts'

export const emailAddress = text({ min: 3, max: 320 })
  .refine(
    (value) => /^[^\s@<>]+@[^\s@<>]+$/.test(value) && !foldsIntoAscii(value),
    'Enter an email address, such as name@example.com.',
  )
  .meta({ format: 'email', examples: ['ada@example.com'] })

export const newPassword = unicodeText()
  .refine((value) => countBytes(value) >= passwordBytes.min, `Use at least ${passwordBytes.min} characters.`)
  .refine(
    (value) => countBytes(value) <= passwordBytes.max,
    `That password is too long. Use at most ${passwordBytes.max} bytes; accented letters and emoji take several bytes.`,
  )
  .refine(
    (value) => !isCommonPassword(value),
    'This password is one of the most common ones. Choose another, such as three random words.',
  )
  .meta({ format: 'password', examples: ['correct horse battery'] })

const optionalName = text({ min: 1, max: 255 }).optional()

export const registerBody = z
  .object({
    email: emailAddress,
    password: newPassword,
    organization: text({ min: 1, max: 255 }).meta({ examples: ['Analytical Engines'] }),
    name: optionalName,
    first_name: optionalName,
    last_name: optionalName,
    country: optionalName,
    contact_number: optionalName,
  })
  .meta({ id: 'Registration' })

const clearableName = text({ min: 1, max: 255 }).nullable().optional()

export const profileChangesBody = z
  .object({
    name: optionalName,
    first_name: clearableName,
    last_name: clearableName,
    country: clearableName,
    contact_number: clearableName,
    organization: optionalName.describe(
      'New name of your organization. Only for SSO accounts that have not completed their profile',
    ),
    current_organization_id: z.int().optional().describe('Switches to another of your organizations'),
  })
  .meta({ id: 'ProfileChanges' })

export const profileBody = z
  .object({
    email: z.string(),
    name: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    country: z.string().nullable(),
    contact_number: z.string().nullable(),
    has_password: z.boolean().describe('false if the account signs in only through SSO'),
    created_at: timestamp,
  })
  .meta({ id: 'Profile' })

export const signInBody = z
  .object({
    email: unicodeText().trim(),
    password: unicodeText(),
    code: factorCode
      .optional()
      .describe('After a 401 `second_factor_required`: a code of the authenticator app, or a recovery code'),
    passkey: passkeySignature.optional().describe('Instead of the code: the signature of a passkey'),
  })
  .meta({ id: 'Credentials', examples: [{ email: 'ada@example.com', password: 'correct horse battery' }] })

export const passwordResetRequestBody = z.object({ email: emailAddress }).meta({ id: 'PasswordResetRequest' })

export const acceptedBody = z.object({ accepted: z.literal(true) }).meta({ id: 'Accepted' })

export const passwordResetBody = z
  .object({
    token: unicodeText().describe('The `token` parameter of the emailed link'),
    password: newPassword,
  })
  .meta({ id: 'PasswordReset' })

export const emailVerificationBody = z
  .object({ token: unicodeText().describe('The `token` parameter of the emailed link') })
  .meta({ id: 'EmailVerification' })

export const verifiedBody = z.object({ verified: z.literal(true) }).meta({ id: 'EmailVerified' })

export const resetBody = z.object({ reset: z.literal(true) }).meta({ id: 'PasswordResetDone' })

export const sessionBody = z
  .object({
    authenticated: z.literal(true),
    user: z.object({
      id: z.int(),
      email: z.string(),
      name: z.string(),
      organization: z.string(),
      role: z.object({ id: z.int(), name: z.enum(Object.keys(roleIds) as [RoleName, ...RoleName[]]) }),
      requires_profile_completion: z.boolean(),
      requires_email_verification: z
        .boolean()
        .describe('true until you open the emailed link: you can neither deploy nor invite until then'),
      requires_second_factor_setup: z
        .boolean()
        .describe(
          'true if your organization requires a second factor and you have none: only personal routes work',
        ),
    }),
    session: z.object({
      expires_at: timestamp,
      auth_method: z.string().describe('`password`, or the name of the SSO provider'),
    }),
  })
  .meta({ id: 'Session' })

export const signedOutBody = z.object({ authenticated: z.literal(false) }).meta({ id: 'SignedOut' })

export function toSessionBody(viewer: Viewer): z.infer<typeof sessionBody> {
  return {
    authenticated: true,
    user: {
      id: viewer.userId,
      email: viewer.email,
      name: viewer.name,
      organization: viewer.organizationName,
      role: { id: roleIds[viewer.role], name: viewer.role },
      requires_profile_completion: viewer.requiresProfileCompletion,
      requires_email_verification: viewer.requiresEmailVerification,
      requires_second_factor_setup: viewer.requiresSecondFactorSetup,
    },
    session: {
      expires_at: viewer.session.expiresAt.toISOString(),
      auth_method: viewer.session.authMethod,
    },
  }
}

function countBytes(value: string): number {
  return Buffer.byteLength(value, 'utf8')
}

export const passwordChangeBody = z
  .object({ current_password: unicodeText(), new_password: newPassword })
  .meta({ id: 'PasswordChange' })

export const sessionParams = z.object({ session_id: pathId })

export const ownSessionBody = z
  .object({
    id: z.int(),
    created_at: timestamp,
    last_seen_at: timestamp.describe('Exact to ten minutes'),
    address: z.string().nullable().describe('IP address of the latest use'),
    user_agent: z.string().nullable(),
    auth_method: z.string().describe('`password`, or the name of the SSO provider'),
    current: z.boolean().describe('Whether this request uses the session'),
  })
  .meta({ id: 'OwnSession' })

export const ownSessionsBody = z.array(ownSessionBody)

export function toOwnSessionBody(session: OwnSession, currentId: number): z.infer<typeof ownSessionBody> {
  const { id, created_at, last_seen_at, address, user_agent, auth_method } = session
  return {
    id,
    created_at: created_at.toISOString(),
    last_seen_at: (last_seen_at ?? created_at).toISOString(),
    address,
    user_agent,
    auth_method,
    current: id === currentId,
  }
}
