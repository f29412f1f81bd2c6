import { useQuery } from '@tanstack/react-query'
import { Button } from '../../components/button.tsx'
import { Notice } from '../../components/states.tsx'
import { billingAccountQuery, billingConfigQuery } from '../../domain/billing/queries.ts'
import { text } from '../../text/index.ts'
import type { Adding } from './add-card.tsx'
import { invoicesQuery } from './queries.ts'
import { findTrouble } from './standing.ts'

/** Shows a problem of the account with its solution, or the state of a card that was just entered. */
export function StandingNotice({ adding }: { adding: Adding }) {
  const { data: account } = useQuery(billingAccountQuery)
  const { data: config } = useQuery(billingConfigQuery)
  const trouble = account && config ? findTrouble(account, config.features) : null
  return (
    <>
      {trouble !== null && (
        <Notice
          tone={trouble === 'exhausted' || trouble === 'unactivated' ? 'warn' : 'bad'}
          title={text.billing.notices[trouble].title}
          action={trouble === 'past_due' && <PayAction />}
        >
          {text.billing.notices[trouble].words}
        </Notice>
      )}
      {adding.arrival === 'waiting' && (
        <div role="status">
          <Notice>{text.billing.waitingForCard}</Notice>
        </div>
      )}
      {adding.arrival === 'late' && (
        <Notice
          tone="warn"
          title={text.billing.cardLate}
          action={<Button onClick={adding.waitAgain}>{text.billing.lookAgain}</Button>}
        >
          {text.billing.cardLateHint}
        </Notice>
      )}
    </>
  )
}

/** A link to the oldest unpaid invoice. */
function PayAction() {
  const { data: invoices } = useQuery(invoicesQuery)
  const open = invoices?.findLast(({ status, amount_due: due }) => status === 'open' && due > 0)
  if (open === undefined) return null
  return (
    <Button asChild>
      <a href={open.hosted_invoice_url} target="_blank" rel="noreferrer">
        {text.billing.payInvoice}
      </a>
    </Button>
  )
}
