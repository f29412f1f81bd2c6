import { z } from 'zod'
import { entityId, optionalField, text, timestamp, unicodeText } from '../../http/schemas.ts'
import type { Reauthentication } from '../second-factors/reauthenticate.ts'
import { factorCode } from '../second-factors/schemas.ts'

export const newScriptSessionBody = z
  .object({
    name: text({ min: 1, max: 100 }).meta({
      description: 'A name for the list of your sessions',
      examples: ['Nightly report'],
    }),
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

export const accountDeletionBody = z
  .object({
    password: optionalField(z.string()).describe(
      'Required if the account has a password and SSO was not used',
    ),
  })
  .meta({ id: 'AccountDeletion', examples: [{ password: 'correct horse battery' }] })

const rows = z.array(z.record(z.string(), z.unknown()))

export const exportBody = z
  .object({
    exported_at: timestamp.describe('Time of the export'),
    account: z.record(z.string(), z.unknown()).describe('Your account and profile'),
    memberships: rows.describe('Your organizations and roles'),
    identities: rows.describe('Your accounts at identity providers'),
    sessions: rows.describe('Your sessions'),
    second_factors: rows.describe('Your second factors, without their secrets'),
    deployments: rows.describe('Your deployments'),
    usage: rows.describe(
      'Your requests and tokens by deployment and hour, also of deployments that others share',
    ),
    requests: rows.describe('Your last 100,000 requests to models, newest first, without their content'),
    invitations: rows.describe('Invitations to you'),
    actions: rows.describe('What you did, from the audit log'),
  })
  .meta({ id: 'AccountExport', description: 'Everything that this server stores about you' })
