import { useQuery } from '@tanstack/react-query'
import { Button } from '../../components/button.tsx'
import { Notice } from '../../components/states.tsx'
import { billingAccountQuery, billingConfigQuery } from '../../domain/billing/queries.ts'
import { text } from '../../text/index.ts'
import type { CardSetup } from './add-card.tsx'
import { invoicesQuery } from './queries.ts'
import { findAccountProblem } from './account-problem.ts'

/** Shows a problem of the account with its solution, or the state of a card that was just entered. */
export function AccountNotice({ cardSetup }: { cardSetup: CardSetup }) {
  const { data: account } = useQuery(billingAccountQuery)
  const { data: config } = useQuery(billingConfigQuery)
  const problem = account && config ? findAccountProblem(account, config.features) : null
  return (
    <>
      {problem !== null && (
        <Notice
          tone={problem === 'exhausted' || problem === 'unactivated' ? 'warn' : 'bad'}
          title={text.billing.notices[problem].title}
          action={problem === 'past_due' && <PayAction />}
        >
          {text.billing.notices[problem].words}
        </Notice>
      )}
      {cardSetup.newCardState === 'waiting' && (
        <div role="status">
          <Notice>{text.billing.waitingForCard}</Notice>
        </div>
      )}
      {cardSetup.newCardState === 'late' && (
        <Notice
          tone="warn"
          title={text.billing.cardLate}
          action={<Button onClick={cardSetup.pollAgain}>{text.billing.lookAgain}</Button>}
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
