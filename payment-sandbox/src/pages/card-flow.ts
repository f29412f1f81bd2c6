import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PaymentMethod } from '../object-types.ts'
import { findObject } from '../objects.ts'
import type { Change } from '../store.ts'
import {
  createEnteredCard,
  isEnteredCard,
  parseCard,
  prefill,
  readCardFields,
  verificationPage,
  wasEnteredOn,
} from './card-form.ts'
import type { CardFields, CardProblems, EnteredCard } from './card-form.ts'
import { formOf, pathOf, show } from './context.ts'
import type { PageContext } from './context.ts'

/** The content of a page's card form. */
export interface CardFormState {
  fields: CardFields
  problems: CardProblems
  refusal: string | null
}

/** A submitted card: a new one, or one that the page or the verification page named. */
export interface SubmittedCard {
  entered: EnteredCard | null
  cardId: string
  /** The answer of the bank verification; undefined before it */
  answer: 'yes' | 'no' | undefined
}

export type CardResult =
  | { outcome: 'done' }
  | { outcome: 'asks'; cardId: string }
  | { outcome: 'refused'; message: string }

/** The form as it first appears, filled in with the test card that the URL names. */
export function firstState({ store }: PageContext, request: FastifyRequest): CardFormState {
  const { card } = request.query as { card?: string }
  return { fields: prefill(card, store.clock()), problems: {}, refusal: null }
}

export function isInvalid({ problems, refusal }: CardFormState): boolean {
  return refusal !== null || Object.keys(problems).length > 0
}

/** Handles a submitted card form: shows it again with its problems, asks the bank, or calls `done`. */
export async function submitCard(
  context: PageContext,
  request: FastifyRequest,
  reply: FastifyReply,
  page: {
    /** What the card is for, as the verification page words it: "pay $5.00" */
    purpose: string
    use: (change: Change, submitted: SubmittedCard) => Promise<CardResult>
    showForm: (state: CardFormState) => FastifyReply | Promise<FastifyReply>
    done: () => FastifyReply
  },
): Promise<FastifyReply> {
  const { store } = context
  const form = formOf(request)
  const fields = readCardFields(form)
  const entered = form.card === undefined ? parseCard(fields, store.clock()) : null
  if (entered !== null && !isEnteredCard(entered)) {
    return page.showForm({ fields, problems: entered, refusal: null })
  }
  const answer = form.answer === undefined ? undefined : form.answer === 'yes' ? 'yes' : 'no'
  const submitted = { entered, cardId: form.card ?? '', answer } as const
  const result = await store.change((change) => page.use(change, submitted))
  if (result.outcome === 'done') return page.done()
  if (result.outcome === 'refused') {
    return page.showForm({ fields, problems: {}, refusal: result.message })
  }
  const body = verificationPage(pathOf(request), page.purpose, result.cardId)
  return show(context, reply, 'Bank verification', body)
}

/** Stores a new card, or finds one that was entered on this page or is saved for `customer`. */
export async function findSubmittedCard(
  change: Change,
  { entered, cardId }: SubmittedCard,
  pageId: string,
  customer: string | null,
): Promise<PaymentMethod | null> {
  if (entered !== null) return createEnteredCard(change, entered, pageId)
  const card = await findObject(change.db, 'payment_method', cardId)
  if (card === null) return null
  return wasEnteredOn(card, pageId) || (customer !== null && card.customer === customer) ? card : null
}
