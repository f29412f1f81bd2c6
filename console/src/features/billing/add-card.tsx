import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Suspense, useEffect, useEffectEvent, useState } from 'react'
import { tabStorage } from '../../browser.ts'
import type { PaymentMethod } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Section } from '../../components/page.tsx'
import { Skeleton } from '../../components/states.tsx'
import { useToasts } from '../../components/toast.tsx'
import { billingConfigQuery } from '../../domain/billing/queries.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { nameCard } from './card.ts'
import { cardsQuery, createSetupSession } from './queries.ts'
import { useLeave } from './use-leave.ts'

const StripeCheckout = lazyPart(() => import('./stripe-checkout.tsx').then((module) => module.StripeCheckout))

const route = getRouteApi('/app/billing')

/** What happens after a card was added. The return URL carries it as the `setup` parameter. */
export type Purpose = 'done' | 'activate'

/** Session storage key of the ids of the cards that existed before the new card was entered. */
const knownCardsKey = 'billing.known-cards'
const pollMilliseconds = 1_000
/** How long to poll for the new card. Usually the payment processor saves it before it redirects back. */
const pollTimeoutMilliseconds = 20_000

/** Steps: open the payment processor's page, find the new card after the redirect, activate if requested. */
export interface CardSetup {
  start: (purpose: Purpose) => void
  isStarting: boolean
  error: unknown
  /** While set, Stripe's form replaces the page. */
  checkout: { clientSecret: string; publishableKey: string } | null
  cancelCheckout: () => void
  /** Set while an entered card is not listed yet; `late` after the polling timed out. */
  newCardState: 'waiting' | 'late' | null
  pollAgain: () => void
  /** The card that was just added. */
  newCard: PaymentMethod | undefined
  isActivating: boolean
  openActivation: () => void
  closeActivation: () => void
}

export function useAddCard(): CardSetup {
  const { data: config } = useQuery(billingConfigQuery)
  const queryClient = useQueryClient()
  const [checkout, setCheckout] = useState<CardSetup['checkout']>(null)
  const { purpose, newCardState, newCard, pollAgain } = useNewCard()
  // Reopens the activation that was interrupted to enter a card.
  const [wantsActivation, setActivating] = useState<boolean>()
  const isActivating = wantsActivation ?? (purpose === 'activate' && newCard !== undefined)
  const { isLeaving, leave } = useLeave()
  const start = useMutation({
    mutationFn: async (purpose: Purpose) => {
      const cards = await queryClient.ensureQueryData(cardsQuery)
      tabStorage.write(knownCardsKey, JSON.stringify(cards.map(({ id }) => id)))
      return createSetupSession(
        purpose === 'activate' ? 'postpaid_activation' : 'payment_method_setup',
        `/billing?setup=${purpose}`,
      )
    },
    onSuccess: ({ client_secret: clientSecret }) => {
      if (config?.features.processor !== 'stripe') {
        return leave(`/sandbox/billing/checkout/${encodeURIComponent(clientSecret)}`)
      }
      setActivating(false)
      setCheckout({ clientSecret, publishableKey: config.publishable_key })
    },
  })
  return {
    start: (purpose) => start.mutate(purpose),
    isStarting: start.isPending || isLeaving,
    error: start.error,
    checkout,
    cancelCheckout: () => setCheckout(null),
    newCardState,
    pollAgain,
    newCard,
    isActivating,
    openActivation: () => {
      start.reset()
      setActivating(true)
    },
    closeActivation: () => setActivating(false),
  }
}

/** After the redirect back, polls until the new card is listed and shows a message. */
function useNewCard() {
  const { setup } = route.useSearch()
  const navigate = route.useNavigate()
  const toasts = useToasts()
  const [purpose] = useState(setup)
  const [known] = useState(readKnownCards)
  const [isLate, setLate] = useState(false)
  const { data: cards } = useQuery({
    ...cardsQuery,
    enabled: purpose !== undefined,
    refetchInterval: ({ state: { data } }) =>
      known !== null && !isLate && !findNewCard(data, known) ? pollMilliseconds : false,
  })
  const newCard = purpose === undefined ? undefined : findNewCard(cards, known)
  const isAwaited = purpose !== undefined && known !== null && cards !== undefined && newCard === undefined

  const newName = newCard && nameCard(newCard)
  const announce = useEffectEvent((name: string) => {
    tabStorage.remove(knownCardsKey)
    toasts.success(text.billing.cardSaved(name))
  })
  useEffect(() => {
    if (newName !== undefined) announce(newName)
  }, [newName])

  // Removes the parameter, so that a reload does not poll again.
  const removeParameter = useEffectEvent(() => void navigate({ search: {}, replace: true }))
  useEffect(() => {
    if (setup !== undefined) removeParameter()
  }, [setup])

  useEffect(() => {
    if (!isAwaited || isLate) return
    const timer = setTimeout(() => setLate(true), pollTimeoutMilliseconds)
    return () => clearTimeout(timer)
  }, [isAwaited, isLate])

  const newCardState: CardSetup['newCardState'] = isAwaited ? (isLate ? 'late' : 'waiting') : null
  return { purpose, newCardState, newCard, pollAgain: () => setLate(false) }
}

/** The card that did not exist before; undefined until it is listed. */
function findNewCard(cards: PaymentMethod[] | undefined, known: string[] | null): PaymentMethod | undefined {
  return known === null ? undefined : cards?.find(({ id }) => !known.includes(id))
}

function readKnownCards(): string[] | null {
  const stored = tabStorage.read(knownCardsKey)
  try {
    const ids: unknown = JSON.parse(stored ?? 'null')
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : null
  } catch {
    return null
  }
}

/** Stripe's form. It replaces the page because the bank's verification could not cover a dialog. */
export function CardForm({ cardSetup: { checkout, cancelCheckout } }: { cardSetup: CardSetup }) {
  if (checkout === null) return null
  return (
    <Section
      title={text.billing.checkoutTitle}
      description={text.billing.checkoutWords}
      actions={<Button onClick={cancelCheckout}>{text.common.cancel}</Button>}
    >
      <Suspense fallback={<Skeleton className="h-96" />}>
        <StripeCheckout {...checkout} />
      </Suspense>
    </Section>
  )
}
