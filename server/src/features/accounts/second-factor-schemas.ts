import { z } from 'zod'
import { pathId, text, timestamp, unicodeText } from '../../http/schemas.ts'
import type { OwnFactors } from './factors/list-factors.ts'

/** A code of six digits or a recovery code. */
export const factorCode = unicodeText().trim().min(1).max(64)

export const reauthenticationBody = z
  .union([
    z.object({ password: unicodeText() }).meta({ title: 'Your password' }),
    z.object({ code: factorCode }).meta({ title: 'A code of your authenticator app, or a recovery code' }),
  ])
  .meta({ id: 'Reauthentication', examples: [{ password: 'correct horse battery' }] })

export const confirmationBody = z
  .object({ code: factorCode.describe('The six digits that the app shows') })
  .meta({ id: 'TotpConfirmation', examples: [{ code: '123456' }] })

export const passkeyBody = z
  .object({
    id: z.int(),
    name: z.string(),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'Passkey' })

export const passkeyParams = z.object({ passkey_id: pathId })

/** Bytes in base64url. A credential is at most a few kilobytes; the body limit bounds them all. */
const bytes = z
  .string()
  .regex(/^[\w-]*$/)
  .max(16_384)

const credential = {
  id: bytes.min(1),
  rawId: bytes.min(1),
  type: z.literal('public-key'),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
}

/** The JSON of a `PublicKeyCredential` that signed a challenge, as WebAuthn Level 3 defines it. */
export const passkeySignature = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes,
      authenticatorData: bytes,
      signature: bytes,
      userHandle: bytes.optional(),
    }),
  })
  .meta({ id: 'PasskeySignature' })

export const newPasskeyBody = z
  .object({
    name: text({ min: 1, max: 100 }).meta({ examples: ['Work laptop'] }),
    response: z
      .object({
        ...credential,
        response: z.object({
          clientDataJSON: bytes,
          attestationObject: bytes,
          transports: z.array(z.string().max(32)).max(10).optional(),
        }),
      })
      .describe('The JSON of the new `PublicKeyCredential`'),
  })
  .meta({ id: 'NewPasskey' })

export const passkeySetupBody = z
  .object({
    options: z
      .record(z.string(), z.unknown())
      .describe('For `PublicKeyCredential.parseCreationOptionsFromJSON`'),
  })
  .meta({ id: 'PasskeySetup' })

export const secondFactorsBody = z
  .object({
    totp: z
      .object({ created_at: timestamp, last_used_at: timestamp.describe('Exact to 30 seconds') })
      .nullable()
      .describe('The authenticator app'),
    passkeys: z.array(passkeyBody),
    recovery_codes_left: z.int(),
  })
  .meta({ id: 'SecondFactors' })

export const totpSetupBody = z
  .object({
    secret: z.string().describe('For typing into an authenticator app, in base32'),
    uri: z.string().describe('For the QR code: `otpauth://totp/…`'),
  })
  .meta({ id: 'TotpSetup' })

export const recoveryCodesBody = z
  .object({ recovery_codes: z.array(z.string()).describe('Shown only now. Each works once.') })
  .meta({ id: 'RecoveryCodes' })

export const factorAddedBody = z
  .object({
    recovery_codes: z
      .array(z.string())
      .nullable()
      .describe('Shown only now. Each works once. null if you have recovery codes already'),
  })
  .meta({ id: 'SecondFactorAdded' })

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
