import { z } from 'zod'
import { entityId, optionalField, text, timestamp, unicodeText } from '../../http/schemas.ts'
import type { Reauthentication } from '../second-factors/reauthenticate.ts'
import { factorCode } from '../second-factors/schemas.ts'

export const newScriptSessionBody = z
  .object({
    name: text({ min: 1, max: 100 })
      .describe('A name for the list of your sessions')
      .meta({ examples: ['Nightly report'] }),
    password: optionalField(unicodeText()).describe('Your password'),
    code: optionalField(factorCode).describe(
      'A code of your authenticator app or a recovery code, instead of the password',
    ),
  })
  .meta({
    id: 'NewScriptSession',
    examples: [{ name: 'Nightly report', password: 'correct horse battery' }],
  })

/** What the caller proves their identity with; null for a recent sign-in through SSO. */
export function toProof({ password, code }: z.output<typeof newScriptSessionBody>): Reauthentication | null {
  if (password !== undefined) return { password }
  return code === undefined ? null : { code }
}

export const scriptSessionBody = z
  .object({
    id: entityId.describe('For ending the session'),
    name: z.string().describe('The name that you gave it'),
    expires_at: timestamp.describe('End of the session; use extends it'),
    cookie: z
      .string()
      .describe('Shown only now: the header `Cookie` of the script’s requests, `<name>=<token>`'),
  })
  .meta({ id: 'ScriptSession', description: 'A new session for a script' })
