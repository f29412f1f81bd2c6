import { timingSafeEqual } from 'node:crypto'
import { sql } from 'kysely'
import { deriveKey } from '../../../base/derive-key.ts'
import { ApplicationError } from '../../../base/errors.ts'
import type { Services } from '../../../services.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** A deployment's key for the uploaded file of its engines, derived from the secret key, never stored. */
export function deriveFileKey(secretKey: string, deploymentId: string): string {
  return deriveKey(secretKey, 'model-file', deploymentId).toString('base64url')
}

/** The SHA-256 of a deployment's file. Throws `invalid_engine_key` for a wrong key or an unneeded file. */
export async function authorizeEngine(
  { db, secretKey }: Pick<Services, 'db' | 'secretKey'>,
  authorization: string | undefined,
): Promise<string> {
  const [deploymentId = '', key = ''] = readBasic(authorization ?? '')
  if (!uuid.test(deploymentId) || !isEqual(key, deriveFileKey(secretKey, deploymentId))) throw invalidKey()
  const deployment = await db
    .selectFrom('deployments')
    .select(sql<string | null>`variant #>> '{weights,sha256}'`.as('sha256'))
    .where('id', '=', deploymentId)
    .where(sql`variant #>> '{weights,kind}'`, '=', 'upload')
    .where('status', 'not in', ['failed', 'terminating', 'terminated'])
    .executeTakeFirst()
  if (!deployment?.sha256) throw invalidKey()
  return deployment.sha256
}

/** The name and password of Basic authentication (RFC 7617). */
function readBasic(authorization: string): string[] {
  const [, credentials = ''] = /^Basic +([\w+/=-]+)$/i.exec(authorization) ?? []
  return Buffer.from(credentials, 'base64').toString().split(':')
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

function invalidKey(): ApplicationError {
  const message = 'Send the id of a deployment of the file and its key, which ends with the deployment.'
  return new ApplicationError('invalid_engine_key', message)
}
