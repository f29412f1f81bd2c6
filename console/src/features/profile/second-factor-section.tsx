import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SecondFactors } from '../../../../server/src/contract.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorState, SkeletonRows } from '../../components/states.tsx'
import { secondFactorsQuery } from '../../domain/second-factors/queries.ts'
import { TotpSetup } from '../../domain/second-factors/totp-setup.tsx'
import { formatDay, formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { RemoveTotpDialog, RenewCodesDialog } from './second-factor-dialogs.tsx'

/** The authenticator app and the recovery codes of an account with a password. */
export function SecondFactorSection() {
  const factors = useQuery(secondFactorsQuery)
  return (
    <Section title={text.secondFactors.title} description={text.secondFactors.description}>
      {factors.data ? (
        <Factors factors={factors.data} />
      ) : factors.error ? (
        <ErrorState error={factors.error} onRetry={() => void factors.refetch()} />
      ) : (
        <SkeletonRows count={1} />
      )}
    </Section>
  )
}

function Factors({ factors: { totp, recovery_codes_left: left } }: { factors: SecondFactors }) {
  const [open, setOpen] = useState<'setUp' | 'remove' | 'renew' | null>(null)
  const close = () => setOpen(null)
  return (
    <div className="grid gap-4">
      {totp ? (
        <>
          <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
            <div className="grid min-w-0 gap-0.5">
              <p className="font-medium">{text.secondFactors.app}</p>
              <p className="text-[0.8125rem] text-muted">
                {text.secondFactors.used(formatDay(totp.created_at), formatRelative(totp.last_used_at))}
              </p>
            </div>
            <Button size="small" aria-label={text.secondFactors.removeApp} onClick={() => setOpen('remove')}>
              {text.secondFactors.remove}
            </Button>
          </div>
          <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
            <p className={left < 3 ? 'text-warn' : 'text-muted'}>{text.secondFactors.codesLeft(left)}</p>
            <Button size="small" onClick={() => setOpen('renew')}>
              {text.secondFactors.renew}
            </Button>
          </div>
        </>
      ) : (
        <>
          <p className="text-muted">{text.secondFactors.none}</p>
          <Button className="justify-self-start" onClick={() => setOpen('setUp')}>
            {text.secondFactors.setUp}
          </Button>
        </>
      )}
      <Dialog open={open === 'setUp'} onOpenChange={close} title={text.secondFactors.setUp}>
        <TotpSetup onDone={close} />
      </Dialog>
      {open === 'remove' && <RemoveTotpDialog onClose={close} />}
      {open === 'renew' && <RenewCodesDialog onClose={close} />}
    </div>
  )
}
