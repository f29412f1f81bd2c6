import { z } from 'zod'
import { entityId, text, timestamp } from '../../http/schemas.ts'
import { optionalProof } from '../second-factors/schemas.ts'

export const newScriptSessionBody = z
  .object({
    name: text({ min: 1, max: 100 }).meta({
      description: 'A name for the list of your sessions',
      examples: ['Nightly report'],
    }),
    ...optionalProof,
  })
  .meta({
    id: 'NewScriptSession',
    examples: [{ name: 'Nightly report', password: 'correct horse battery' }],
  })

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
  .object(optionalProof)
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
