import { z } from 'zod'
import { timestamp, unicodeText } from '../../http/schemas.ts'
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

export const secondFactorsBody = z
  .object({
    totp: z
      .object({ created_at: timestamp, last_used_at: timestamp.describe('Exact to 30 seconds') })
      .nullable()
      .describe('The authenticator app'),
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
  recoveryCodesLeft,
}: OwnFactors): z.infer<typeof secondFactorsBody> {
  return {
    totp: totp && {
      created_at: totp.createdAt.toISOString(),
      last_used_at: totp.lastUsedAt.toISOString(),
    },
    recovery_codes_left: recoveryCodesLeft,
  }
}
