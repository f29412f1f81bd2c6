import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { count, entityId, optionalField, pathId, text, timestamp, unicodeText } from '../../http/schemas.ts'
import type { OwnFactors } from './list-factors.ts'
import type { Reauthentication } from './reauthenticate.ts'

/** A code of six digits or a recovery code. */
export const factorCode = unicodeText().trim().min(1).max(64)

export const verificationBody = z
  .object({ code: factorCode.describe('The six digits that the app shows') })
  .meta({ id: 'TotpVerification', examples: [{ code: '123456' }] })

export const passkeyBody = z
  .object({
    id: entityId.describe('For removing the passkey'),
    name: z.string().describe('The name that you gave it'),
    created_at: timestamp.describe('When you added it'),
    last_used_at: timestamp.nullable().describe('The latest sign-in with it; null before the first'),
  })
  .meta({ id: 'Passkey', description: 'A passkey of your account' })

export const passkeyParams = z.object({ passkey_id: pathId.describe('Id of one of your passkeys') })

/** Bytes in base64url. A credential is at most a few kilobytes; the body limit bounds them all. */
const bytes = z
  .string()
  .regex(/^[\w-]*$/)
  .max(16_384)

const credential = {
  id: bytes.min(1).describe('Id of the credential'),
  rawId: bytes.min(1).describe('Id of the credential'),
  type: z.literal('public-key').describe('The only type of WebAuthn'),
  clientExtensionResults: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Results of WebAuthn extensions'),
}

/** The JSON of a `PublicKeyCredential` that signed a challenge, as WebAuthn Level 3 defines it. */
export const passkeySignature = z
  .object({
    ...credential,
    response: z
      .object({
        clientDataJSON: bytes.describe('The signed challenge and origin'),
        authenticatorData: bytes.describe('What the authenticator says about the signature'),
        signature: bytes.describe('The signature'),
        userHandle: bytes.optional().describe('The user of the passkey'),
      })
      .describe('The answer of the authenticator'),
  })
  .meta({
    id: 'PasskeySignature',
    description: 'The JSON of a `PublicKeyCredential` that signed a challenge',
  })
  .transform((signature) => signature as AuthenticationResponseJSON)

export const reauthenticationBody = z
  .union([
    z.object({ password: unicodeText().describe('Your password') }).meta({ title: 'Your password' }),
    z
      .object({ code: factorCode.describe('The code') })
      .meta({ title: 'A code of your authenticator app, or a recovery code' }),
    z
      .object({ passkey: passkeySignature.describe('The signature of your passkey') })
      .meta({ title: 'A signature of your passkey' }),
  ])
  .meta({ id: 'Reauthentication', examples: [{ password: 'correct horse battery' }] })

/** The proof in bodies with other members, where a recent SSO sign-in may stand in for it. */
export const optionalProof = {
  password: optionalField(unicodeText()).describe('Your password'),
  code: optionalField(factorCode).describe(
    'A code of your authenticator app or a recovery code, instead of the password',
  ),
  passkey: optionalField(passkeySignature).describe('A signature of your passkey, instead of the password'),
}

/** What the caller proves their identity with; null for a recent sign-in through SSO. */
export function toProof({
  password,
  code,
  passkey,
}: z.output<z.ZodObject<typeof optionalProof>>): Reauthentication | null {
  if (password !== undefined) return { password }
  if (passkey !== undefined) return { passkey }
  return code === undefined ? null : { code }
}

const examplePasskey = {
  name: 'Work laptop',
  response: {
    id: 'AbCdEfGh',
    rawId: 'AbCdEfGh',
    type: 'public-key',
    response: { clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0', attestationObject: 'o2NmbXRkbm9uZQ' },
  },
}

export const newPasskeyBody = z
  .object({
    name: text({ min: 1, max: 100 }).meta({
      description: 'A name for the list of your passkeys',
      examples: ['Work laptop'],
    }),
    response: z
      .object({
        ...credential,
        response: z
          .object({
            clientDataJSON: bytes.describe('The signed challenge and origin'),
            attestationObject: bytes.describe('The public key'),
            transports: z
              .array(z.string().max(32))
              .max(10)
              .optional()
              .describe('How browsers reach the authenticator'),
          })
          .describe('The answer of the authenticator'),
      })
      .describe('The JSON of the new `PublicKeyCredential`'),
  })
  .meta({ id: 'NewPasskey', examples: [examplePasskey] })

export const passkeyChallengeBody = z
  .object({
    options: z
      .record(z.string(), z.unknown())
      .describe('For `PublicKeyCredential.parseRequestOptionsFromJSON`'),
  })
  .meta({ id: 'PasskeyChallenge', description: 'The options to sign with a passkey' })

export const passkeySetupBody = z
  .object({
    options: z
      .record(z.string(), z.unknown())
      .describe('For `PublicKeyCredential.parseCreationOptionsFromJSON`'),
  })
  .meta({ id: 'PasskeySetup', description: 'The options for a new passkey' })

export const secondFactorsBody = z
  .object({
    totp: z
      .object({
        created_at: timestamp.describe('When you took it into use'),
        last_used_at: timestamp.describe('Latest use; exact to 30 seconds'),
      })
      .nullable()
      .describe('The authenticator app; null without one'),
    passkeys: z.array(passkeyBody).describe('The passkeys, oldest first'),
    recovery_codes_left: count.describe('Unused recovery codes'),
  })
  .meta({ id: 'SecondFactors', description: 'Your second factors' })

export const totpSetupBody = z
  .object({
    secret: z.string().describe('For typing into an authenticator app, in base32'),
    uri: z.string().describe('For the QR code: `otpauth://totp/…`'),
  })
  .meta({ id: 'TotpSetup', description: 'The secret for an authenticator app' })

export const recoveryCodesBody = z
  .object({ recovery_codes: z.array(z.string()).describe('Shown only now. Each works once.') })
  .meta({ id: 'RecoveryCodes', description: 'Your new recovery codes' })

export const factorAddedBody = z
  .object({
    recovery_codes: z
      .array(z.string())
      .nullable()
      .describe('Shown only now. Each works once. null if you have recovery codes already'),
  })
  .meta({ id: 'SecondFactorAdded', description: 'The second factor is in use' })

export function toSecondFactorsBody({
  totp,
  passkeys,
  recoveryCodesLeft,
}: OwnFactors): z.infer<typeof secondFactorsBody> {
  return {
    totp: totp && {
      created_at: totp.createdAt.toISOString(),
      last_used_at: totp.lastUsedAt.toISOString(),
    },
    passkeys: passkeys.map(({ id, name, created_at, last_used_at }) => ({
      id,
      name,
      created_at: created_at.toISOString(),
      last_used_at: last_used_at?.toISOString() ?? null,
    })),
    recovery_codes_left: recoveryCodesLeft,
  }
}
