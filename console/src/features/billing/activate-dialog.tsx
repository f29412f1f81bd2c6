import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { PaymentMethod } from '../../contract.ts'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorMessage, ErrorState, Skeleton } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { billingAccountQuery, billingConfigQuery } from '../../domain/billing/queries.ts'
import { formatMoney, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import type { CardSetup } from './add-card.tsx'
import { formatExpiry, nameCard, expiryStatus } from './card.ts'
import { cardsQuery, useActivatePostpaid } from './queries.ts'

/** Chooses a card to charge, or adds one, and activates billing. */
export function ActivateDialog({ cardSetup }: { cardSetup: CardSetup }) {
  const { data: cards, error: cardsError, refetch } = useQuery(cardsQuery)
  const [picked, setPicked] = useState<string>()
  const activate = useActivatePostpaid()
  const toasts = useToasts()
  const chosen =
    cards?.find(({ id }) => id === picked) ??
    cards?.find(({ id }) => id === cardSetup.newCard?.id) ??
    cards?.find((card) => card.is_default && expiryStatus(card) !== 'expired') ??
    cards?.find((card) => expiryStatus(card) !== 'expired') ??
    cards?.[0]
  const close = () => {
    activate.reset()
    setPicked(undefined)
    cardSetup.closeActivation()
  }
  const confirm = ({ id }: PaymentMethod) =>
    activate.mutate(id, {
      onSuccess: () => {
        close()
        toasts.success(text.billing.activated)
      },
    })
  const addCard = (
    <Button
      variant={chosen ? 'secondary' : 'primary'}
      busy={cardSetup.isStarting}
      onClick={() => cardSetup.start('activate')}
    >
      {chosen ? text.billing.otherCard : text.billing.addCard}
    </Button>
  )
  return (
    <Dialog
      open={cardSetup.isActivating}
      onClose={close}
      title={text.billing.activateTitle}
      description={text.billing.activateWords}
      actions={
        <>
          <Button onClick={close}>{text.common.cancel}</Button>
          {chosen ? (
            <Button variant="primary" busy={activate.isPending} onClick={() => confirm(chosen)}>
              {text.billing.activate}
            </Button>
          ) : (
            cards && addCard
          )}
        </>
      }
    >
      <div className="grid gap-4">
        {cards === undefined &&
          (cardsError ? (
            <ErrorState error={cardsError} onRetry={() => void refetch()} />
          ) : (
            <Skeleton className="h-24" />
          ))}
        <PlanComparison />
        {cards && !chosen && <p>{text.billing.needsCard}</p>}
        {cards && chosen && (
          <>
            <CardChoice cards={cards} chosen={chosen} onChoose={setPicked} />
            <div>{addCard}</div>
          </>
        )}
        <ActivationError error={activate.error} />
        <ErrorMessage error={cardSetup.error} />
      </div>
    </Dialog>
  )
}

/** What changes with the activation, for an organization in the trial. */
function PlanComparison() {
  const { data: account } = useQuery(billingAccountQuery)
  const { data: config } = useQuery(billingConfigQuery)
  if (!account?.trial_credit || !config) return null
  const { remaining, granted } = account.trial_credit
  const words = text.billing.comparison
  const money = (amount: string) => formatMoney(amount, account.currency)
  const rows = [
    [
      words.deployments,
      formatNumber(account.max_active_resources),
      formatNumber(config.deployment_limits.postpaid),
    ],
    [words.price, words.credit(money(granted)), words.perHour],
    [words.charged, words.never, words.monthly],
  ]
  return (
    <>
      <table className="w-full text-left">
        <thead>
          <tr>
            <th>
              <span className="sr-only">{text.billing.plan}</span>
            </th>
            <th className="pb-1.5 pl-4 font-medium">{text.billing.plans.trial}</th>
            <th className="pb-1.5 pl-4 font-medium">{text.billing.plans.postpaid}</th>
          </tr>
        </thead>
        <tbody className="divide-y border-y">
          {rows.map(([label, trial, postpaid]) => (
            <tr key={label} className="align-top">
              <th className="py-1.5 font-normal text-muted">{label}</th>
              <td className="py-1.5 pl-4">{trial}</td>
              <td className="py-1.5 pl-4">{postpaid}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {Number(remaining) > 0 && <p className="text-muted">{text.billing.creditEnds(money(remaining))}</p>}
    </>
  )
}

function CardChoice({
  cards,
  chosen,
  onChoose,
}: {
  cards: PaymentMethod[]
  chosen: PaymentMethod
  onChoose: (id: string) => void
}) {
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-2 font-medium">{text.billing.chooseCard}</legend>
      {cards.map((card) => {
        const expiry = formatExpiry(card)
        const hasExpired = expiryStatus(card) === 'expired'
        return (
          <label
            key={card.id}
            className="flex cursor-pointer flex-wrap items-center gap-x-3 rounded-lg border px-3 py-2.5 hover:bg-subtle has-checked:border-accent has-checked:bg-accent-soft"
          >
            <input
              type="radio"
              name="card"
              value={card.id}
              checked={card.id === chosen.id}
              onChange={() => onChoose(card.id)}
              className="size-4 accent-accent"
            />
            <span className="tabular font-medium whitespace-nowrap">{nameCard(card)}</span>
            <span className="tabular ml-auto text-[0.8125rem] whitespace-nowrap text-muted">
              {hasExpired ? text.billing.expired(expiry) : text.billing.expires(expiry)}
            </span>
          </label>
        )
      })}
    </fieldset>
  )
}

/** Shows why the card was declined and what to do next. */
function ActivationError({ error }: { error: unknown }) {
  const code = error instanceof ApiError ? error.code : ''
  const remedy =
    code in text.billing.remedies ? text.billing.remedies[code as keyof typeof text.billing.remedies] : null
  return (
    <div className="empty:hidden">
      <ErrorMessage error={error} />
      {remedy && <p className="pt-2 text-muted">{remedy}</p>}
    </div>
  )
}
