import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Suspense, useEffect, useEffectEvent, useState } from 'react'
import type { PaymentMethod } from '../../../../server/src/contract.ts'
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

/** What a card is added for; it is the word in the address that one comes back to. */
export type Purpose = 'done' | 'activate'

/** Where the ids of the cards wait that were there before one left to enter another. */
const knownCardsKey = 'billing.known-cards'
const pollMilliseconds = 1_000
/** The processor saves the card before it leads back; this is for one that is slow. */
const patienceMilliseconds = 20_000

/** Adding a card: leaving for the page where it is entered, coming back, and carrying on with what it was for. */
export interface Adding {
  begin: (purpose: Purpose) => void
  isBeginning: boolean
  error: unknown
  /** Stripe's form is shown in place of the page while this is set. */
  checkout: { clientSecret: string; publishableKey: string } | null
  cancelCheckout: () => void
  /** A card was entered and is not listed yet. */
  arrival: 'waiting' | 'late' | null
  waitAgain: () => void
  /** The card that was entered last. */
  newCard: PaymentMethod | undefined
  isActivating: boolean
  openActivation: () => void
  closeActivation: () => void
}

export function useAddCard(): Adding {
  const { data: config } = useQuery(billingConfigQuery)
  const queryClient = useQueryClient()
  const [checkout, setCheckout] = useState<Adding['checkout']>(null)
  const { purpose, arrival, newCard, waitAgain } = useArrival()
  // An activation that one left to enter a card goes on with the card.
  const [wish, setActivating] = useState<boolean>()
  const isActivating = wish ?? (purpose === 'activate' && newCard !== undefined)
  const { isLeaving, leave } = useLeave()
  const begin = useMutation({
    mutationFn: async (purpose: Purpose) => {
      const cards = await queryClient.ensureQueryData(cardsQuery)
      sessionStorage.setItem(knownCardsKey, JSON.stringify(cards.map(({ id }) => id)))
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
    begin: (purpose) => begin.mutate(purpose),
    isBeginning: begin.isPending || isLeaving,
    error: begin.error,
    checkout,
    cancelCheckout: () => setCheckout(null),
    arrival,
    waitAgain,
    newCard,
    isActivating,
    openActivation: () => {
      begin.reset()
      setActivating(true)
    },
    closeActivation: () => setActivating(false),
  }
}

/** After one came back from entering a card: looks until it is listed, and says so. */
function useArrival() {
  const { setup } = route.useSearch()
  const navigate = route.useNavigate()
  const toasts = useToasts()
  const [purpose] = useState(setup)
  const [known] = useState(readKnownCards)
  const [isLate, setLate] = useState(false)
  const { data: cards } = useQuery({
    ...cardsQuery,
    refetchInterval: ({ state: { data } }) =>
      purpose !== undefined && known !== null && !isLate && !findNew(data, known) ? pollMilliseconds : false,
  })
  const newCard = purpose === undefined ? undefined : findNew(cards, known)
  const isAwaited = purpose !== undefined && known !== null && cards !== undefined && newCard === undefined

  const newName = newCard && nameCard(newCard)
  const welcome = useEffectEvent((name: string) => {
    sessionStorage.removeItem(knownCardsKey)
    toasts.done(text.billing.cardSaved(name))
  })
  useEffect(() => {
    if (newName !== undefined) welcome(newName)
  }, [newName])

  // The word has been read: reloading the page or coming back to it must not wait for a card again.
  const forgetWord = useEffectEvent(() => void navigate({ search: {}, replace: true }))
  useEffect(() => {
    if (setup !== undefined) forgetWord()
  }, [setup])

  useEffect(() => {
    if (!isAwaited || isLate) return
    const timer = setTimeout(() => setLate(true), patienceMilliseconds)
    return () => clearTimeout(timer)
  }, [isAwaited, isLate])

  const arrival: Adding['arrival'] = isAwaited ? (isLate ? 'late' : 'waiting') : null
  return { purpose, arrival, newCard, waitAgain: () => setLate(false) }
}

/** The card that was not there before one left; undefined while it isn't listed. */
function findNew(cards: PaymentMethod[] | undefined, known: string[] | null): PaymentMethod | undefined {
  return known === null ? undefined : cards?.find(({ id }) => !known.includes(id))
}

function readKnownCards(): string[] | null {
  const stored = sessionStorage.getItem(knownCardsKey)
  try {
    const ids: unknown = JSON.parse(stored ?? 'null')
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : null
  } catch {
    return null
  }
}

/** Stripe's form in place of the page: in a dialog it could not show the bank's question over everything. */
export function AddingCard({ adding: { checkout, cancelCheckout } }: { adding: Adding }) {
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
