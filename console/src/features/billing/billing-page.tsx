import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CreditCard, ExternalLink } from 'lucide-react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Page, Section } from '../../components/page.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { billingConfigQuery } from '../../domain/billing/queries.ts'
import { BudgetNotices } from '../../domain/budgets/budget-notices.tsx'
import { text } from '../../text/index.ts'
import { Budgets } from './budgets/budgets.tsx'
import { budgetsQuery } from './budgets/queries.ts'
import { ActivateDialog } from './activate-dialog.tsx'
import { CardForm, useAddCard } from './add-card.tsx'
import { Cards } from './cards.tsx'
import { Invoices } from './invoices.tsx'
import { Plan } from './plan.tsx'
import { createPortalSession } from './queries.ts'
import { AccountNotice } from './account-notice.tsx'
import { useLeave } from './use-leave.ts'

/** Plan, cards and invoices of the organization; requires the `manageBilling` permission. */
export function BillingPage() {
  return useCan()('manageBilling') ? <Billing /> : <AskAnAdmin />
}

function Billing() {
  const cardSetup = useAddCard()
  const { data: budgets = [] } = useQuery(budgetsQuery)
  return (
    <Page {...text.pages.billing} actions={<PortalButton />}>
      {cardSetup.checkout ? (
        <CardForm cardSetup={cardSetup} />
      ) : (
        <>
          <AccountNotice cardSetup={cardSetup} />
          <BudgetNotices budgets={budgets} />
          <Plan onActivate={cardSetup.openActivation} />
          <Budgets />
          <Cards cardSetup={cardSetup} />
          <Invoices />
        </>
      )}
      <ActivateDialog cardSetup={cardSetup} />
    </Page>
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
