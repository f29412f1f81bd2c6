import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CreditCard, ExternalLink } from 'lucide-react'
import { Suspense } from 'react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Page, Section } from '../../components/page.tsx'
import { EmptyState, Notice } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { billingConfigQuery, billingAccountQuery } from '../../domain/billing/queries.ts'
import { usePaysHere } from '../../domain/installation.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { findAccountProblem } from './account-problem.ts'
import { budgetsQuery } from './budgets/queries.ts'
import { CardForm, useAddCard } from './add-card.tsx'
import type { CardSetup } from './add-card.tsx'
import { Plan } from './plan.tsx'
import { createPortalSession, invoicesQuery } from './queries.ts'
import { useLeave } from './use-leave.ts'

// Below the first screen, or rarely open
const ActivateDialog = lazyPart(() => import('./activate-dialog.tsx').then((module) => module.ActivateDialog))
const BudgetNotices = lazyPart(() =>
  import('../../domain/budgets/budget-notices.tsx').then((module) => module.BudgetNotices),
)
const Budgets = lazyPart(() => import('./budgets/budgets.tsx').then((module) => module.Budgets))
const Cards = lazyPart(() => import('./cards.tsx').then((module) => module.Cards))
const Invoices = lazyPart(() => import('./invoices.tsx').then((module) => module.Invoices))

/** Plan, cards and invoices of the organization; requires the `manageBilling` permission. */
export function BillingPage() {
  const paysHere = usePaysHere()
  if (!useCan()('manageBilling')) return <AskAnAdmin />
  return paysHere ? <Billing /> : <OnlyBudgets />
}

/** Without billing, an organization sets budgets only. */
function OnlyBudgets() {
  const { data: budgets = [] } = useQuery(budgetsQuery)
  return (
    <Page {...text.pages.budgets}>
      <Suspense>
        <BudgetNotices budgets={budgets} />
        <Budgets />
      </Suspense>
    </Page>
  )
}

function Billing() {
  const cardSetup = useAddCard()
  const plan = [useQuery(billingAccountQuery), useQuery(billingConfigQuery)]
  // What is below the plan asks the server after the plan has come.
  const hasPlan = plan.every(({ isFetched }) => isFetched)
  const { data: budgets = [] } = useQuery({ ...budgetsQuery, enabled: hasPlan })
  return (
    <Page {...text.pages.billing} actions={<PortalButton />}>
      {cardSetup.checkout ? (
        <CardForm cardSetup={cardSetup} />
      ) : (
        <>
          <AccountNotice cardSetup={cardSetup} />
          <Suspense>{budgets.length > 0 && <BudgetNotices budgets={budgets} />}</Suspense>
          <Plan onActivate={cardSetup.openActivation} />
          <Suspense>
            {hasPlan && (
              <>
                <Budgets />
                <Cards cardSetup={cardSetup} />
                <Invoices />
              </>
            )}
          </Suspense>
        </>
      )}
      <Suspense>{hasPlan && <ActivateDialog cardSetup={cardSetup} />}</Suspense>
    </Page>
  )
}

/** Shows a problem of the account with its solution, or the state of a card that was just entered. */
function AccountNotice({ cardSetup }: { cardSetup: CardSetup }) {
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

function PortalButton() {
  const { data: config } = useQuery(billingConfigQuery)
  const toasts = useToasts()
  const { isLeaving, leave } = useLeave()
  const open = useMutation({
    mutationFn: () => createPortalSession('/billing'),
    onSuccess: leave,
    onError: toasts.error,
  })
  if (config?.features.portal === false) return null
  const isBusy = open.isPending || isLeaving
  return (
    <Button busy={isBusy} onClick={() => open.mutate()}>
      {!isBusy && <ExternalLink aria-hidden />}
      {text.billing.portal}
    </Button>
  )
}

function AskAnAdmin() {
  return (
    <Page title={text.pages.billing.title}>
      <Section flush>
        <EmptyState
          icon={<CreditCard />}
          title={text.billing.notAllowed}
          action={
            <div className="flex flex-wrap justify-center gap-2">
              <Button asChild>
                <Link to="/usage">{text.billing.toUsage}</Link>
              </Button>
              <Button asChild>
                <Link to="/organization">{text.billing.toMembers}</Link>
              </Button>
            </div>
          }
        >
          {text.billing.notAllowedHint}
        </EmptyState>
      </Section>
    </Page>
  )
}
