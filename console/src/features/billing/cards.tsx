import { useQuery } from '@tanstack/react-query'
import { CreditCard, Plus } from 'lucide-react'
import { useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { ConfirmDialog } from '../../components/dialog.tsx'
import type { PaymentMethod } from '../../contract.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { EmptyState, ErrorMessage } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { billingAccountQuery } from '../../domain/billing/queries.ts'
import { text } from '../../text/index.ts'
import { isSubscribed } from './account-problem.ts'
import type { CardSetup } from './add-card.tsx'
import { formatExpiry, nameCard, spokenCardName, expiryStatus } from './card.ts'
import { cardsQuery, useUpdateDefaultCard, useRemoveCard } from './queries.ts'

/** The saved cards with their actions. */
export function Cards({ cardSetup }: { cardSetup: CardSetup }) {
  const query = useQuery(cardsQuery)
  const { data: account } = useQuery(billingAccountQuery)
  const isCharged =
    account !== undefined && isSubscribed(account) && account.collection_method === 'charge_automatically'
  const [removing, setRemoving] = useState<PaymentMethod | null>(null)
  const addButton = useRef<HTMLButtonElement>(null)
  // The activation dialog shows its error itself.
  const startError = cardSetup.isActivating ? null : cardSetup.error
  const add = (
    <Button ref={addButton} busy={cardSetup.isStarting} onClick={() => cardSetup.start('done')}>
      {!cardSetup.isStarting && <Plus aria-hidden />}
      {text.billing.addCard}
    </Button>
  )
  const isEmpty = query.data?.length === 0
  return (
    <Section flush title={text.billing.cards} actions={!isEmpty && add}>
      {Boolean(startError) && (
        <div className="px-5 pt-4">
          <ErrorMessage error={startError} />
        </div>
      )}
      <Loaded query={query} rows={2}>
        {(cards) =>
          isEmpty ? (
            <EmptyState icon={<CreditCard />} title={text.billing.noCards} action={add}>
              {text.billing.noCardsHint}
            </EmptyState>
          ) : (
            <ul className="divide-y">
              {cards.map((card) => (
                <CardRow
                  key={card.id}
                  card={card}
                  isCharged={isCharged && card.is_default}
                  onRemove={() => setRemoving(card)}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      {removing && (
        <RemoveCardDialog
          card={removing}
          isCharged={isCharged && removing.is_default}
          isOnly={query.data?.length === 1}
          onClose={() => setRemoving(null)}
          onRemoved={() => {
            // The list has lost the opener's row. Unmount the dialog first, because it traps the focus.
            flushSync(() => setRemoving(null))
            setTimeout(() => addButton.current?.focus())
          }}
        />
      )}
    </Section>
  )
}

interface RemoveCardDialogProps {
  card: PaymentMethod
  /** Whether the subscription is charged to this card. */
  isCharged: boolean
  isOnly: boolean
  onClose: () => void
  onRemoved: () => void
}

/** Says what is charged afterwards, and asks for confirmation. */
function RemoveCardDialog({ card, isCharged, isOnly, onClose, onRemoved }: RemoveCardDialogProps) {
  const remove = useRemoveCard()
  const toasts = useToasts()
  return (
    <ConfirmDialog
      onClose={onClose}
      title={text.billing.removeTitle(nameCard(card))}
      description={text.billing.removeWords[isCharged ? (isOnly ? 'only' : 'charged') : 'spare']}
      confirmLabel={text.billing.removeConfirm}
      dangerous
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() =>
        remove.mutate(card, {
          onSuccess: () => {
            toasts.success(text.billing.removed(nameCard(card)))
            onRemoved()
          },
        })
      }
    />
  )
}

interface CardRowProps {
  card: PaymentMethod
  /** Whether the subscription is charged to this card. */
  isCharged: boolean
  onRemove: () => void
}

function CardRow({ card, isCharged, onRemove }: CardRowProps) {
  const setDefault = useUpdateDefaultCard()
  const toasts = useToasts()
  const expiryState = expiryStatus(card)
  const expiry = formatExpiry(card)
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-3 px-5 py-4">
      <CreditCard aria-hidden className="size-5 shrink-0 text-muted" />
      <div className="grid min-w-0 gap-0.5">
        <div className="flex flex-wrap items-center gap-2">
          <span aria-hidden className="tabular font-medium">
            {nameCard(card)}
          </span>
          <span className="sr-only">{spokenCardName(card)}</span>
          {card.is_default && <Badge tone="accent">{text.billing.defaultCard}</Badge>}
          {expiryState === 'soon' && <Badge tone="warn">{text.billing.expiresSoon}</Badge>}
          {expiryState === 'expired' && <Badge tone="bad">{text.billing.expiredBadge}</Badge>}
        </div>
        <p className="tabular text-[0.8125rem] text-muted">
          {expiryState === 'expired' ? text.billing.expired(expiry) : text.billing.expires(expiry)}
        </p>
        {isCharged && <p className="text-[0.8125rem] text-muted">{text.billing.charged}</p>}
      </div>
      <div className="ml-auto flex gap-2">
        {!card.is_default && (
          <Button
            size="small"
            busy={setDefault.isPending}
            aria-label={text.billing.actionOn(text.billing.makeDefault, spokenCardName(card))}
            onClick={() =>
              setDefault.mutate(card, {
                onSuccess: () => toasts.success(text.billing.madeDefault(nameCard(card))),
                onError: toasts.error,
              })
            }
          >
            {text.billing.makeDefault}
          </Button>
        )}
        <Button
          size="small"
          variant="quiet"
          aria-label={text.billing.actionOn(text.billing.remove, spokenCardName(card))}
          onClick={onRemove}
        >
          {text.billing.remove}
        </Button>
      </div>
    </li>
  )
}
