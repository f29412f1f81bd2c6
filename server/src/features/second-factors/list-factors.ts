import type { Services } from '../../services.ts'
import type { Viewer } from '../../base/viewer.ts'
import { listPasskeys } from './passkey-store.ts'
import type { Passkey } from './passkey-store.ts'
import { countRecoveryCodes, findTotp } from './store.ts'
import { toStepTime } from './totp.ts'

/** The viewer's second factors, without their secrets. */
export interface OwnFactors {
  totp: { createdAt: Date; lastUsedAt: Date } | null
  passkeys: Passkey[]
  recoveryCodesLeft: number
}

export async function listOwnFactors({ db }: Pick<Services, 'db'>, { userId }: Viewer): Promise<OwnFactors> {
  const [totp, passkeys, recoveryCodesLeft] = await Promise.all([
    findTotp(db, userId),
    listPasskeys(db, userId),
    countRecoveryCodes(db, userId),
  ])
  if (totp === undefined) return { totp: null, passkeys, recoveryCodesLeft }
  const { verified_at: createdAt, last_used_step: step } = totp
  return { totp: { createdAt: createdAt!, lastUsedAt: toStepTime(step) }, passkeys, recoveryCodesLeft }
}
