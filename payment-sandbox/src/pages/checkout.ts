import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { attachCard, declined } from '../cards.ts'
import type { CheckoutSession, PaymentMethod } from '../object-types.ts'
import { findObject, getObject, saveObject } from '../objects.ts'
import { completeSession } from '../sessions.ts'
import type { Change } from '../store.ts'
import { testCardOf } from '../test-cards.ts'
import {
  cardInputs,
  createEnteredCard,
  isEnteredCard,
  parseCard,
  prefill,
  readCardFields,
  testCardList,
  verificationPage,
  wasEnteredOn,
} from './card-form.ts'
import type { CardFields, CardProblems, EnteredCard } from './card-form.ts'
import { PageError, findBySecret, formOf, pathOf, show } from './context.ts'
import type { PageContext } from './context.ts'
import { html } from './html.ts'

/** The page on which a person enters a card to be saved, and its bank verification. */
export function checkoutPages(app: FastifyInstance, context: PageContext): void {
  const { store } = context

  async function findSession(request: FastifyRequest): Promise<CheckoutSession> {
    const session = await findBySecret(context, 'checkout.session', request)
    const isExpired = session.status === 'open' && session.expires_at * 1000 <= store.clock().getTime()
    if (isExpired || session.status === 'expired') {
      throw new PageError(410, 'This page has expired', 'Go back to billing and start again.')
    }
    return session
  }

  app.get('/checkout/:secret', { schema: { hide: true } }, async (request, reply) => {
    const session = await findSession(request)
    if (session.status === 'complete') return redirectBack(reply, session)
    const { card } = request.query as { card?: string }
    return showForm(request, reply, prefill(card, store.clock()), {}, null)
  })

  app.post('/checkout/:secret', { schema: { hide: true } }, async (request, reply) => {
    const session = await findSession(request)
    const form = formOf(request)
    const fields = readCardFields(form)
    const entered = form.card === undefined ? parseCard(fields, store.clock()) : null
    if (entered !== null && !isEnteredCard(entered)) return showForm(request, reply, fields, entered, null)
    const result = await store.change((change) => saveCard(change, session.id, entered, form))
    if (result.outcome === 'saved') return redirectBack(reply, session)
    if (result.outcome === 'refused') return showForm(request, reply, fields, {}, result.message)
    const body = verificationPage(pathOf(request), 'save this card for later payments', result.cardId)
    return show(context, reply, 'Bank verification', body)
  })

  function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    fields: CardFields,
    problems: CardProblems,
    refusal: string | null,
  ): FastifyReply {
    const path = pathOf(request)
    const isInvalid = refusal !== null || Object.keys(problems).length > 0
    const body = html`<section>
        <h1>Save a card</h1>
        <p class="soft">The card is charged at the end of each month for your usage.</p>
        ${refusal !== null && html`<p class="alert" role="alert">${refusal}</p>`}
        <form method="post" action="${path}" novalidate>
          ${cardInputs(fields, problems)} <button class="wide">Save card</button>
        </form>
      </section>
      ${testCardList(path)}
      <p><a href="/billing">Cancel and go back to billing</a></p>`
    return show(context, reply, 'Save a card', body, isInvalid ? 422 : 200)
  }
}

type SaveResult =
  | { outcome: 'saved' }
  | { outcome: 'asks'; cardId: string }
  | { outcome: 'refused'; message: string }

/** Saves a card unless the session is complete. `entered` is null for the form of the bank verification. */
async function saveCard(
  change: Change,
  sessionId: string,
  entered: EnteredCard | null,
  form: Record<string, string>,
): Promise<SaveResult> {
  const session = await getObject(change.db, 'checkout.session', sessionId)
  if (session.status !== 'open') return { outcome: 'saved' }
  const card =
    entered === null
      ? await findVerifiedCard(change, sessionId, form.card ?? '')
      : await createEnteredCard(change, entered, sessionId)
  const { setup } = card === null ? { setup: 'declines' } : testCardOf(card)
  if (card === null || setup === 'declines') return { outcome: 'refused', message: declined.message }
  if (setup === 'asks') {
    if (form.answer === undefined) return { outcome: 'asks', cardId: card.id }
    if (form.answer !== 'yes') {
      const message = 'Your bank did not approve the card. Try again, or use another card.'
      return { outcome: 'refused', message }
    }
    await saveObject(change, { ...card, metadata: { ...card.metadata, verified: 'yes' } })
  }
  await attachCard(change, card.id, session.customer)
  await completeSession(change, session)
  return { outcome: 'saved' }
}

async function findVerifiedCard(
  { db }: Change,
  sessionId: string,
  id: string,
): Promise<PaymentMethod | null> {
  const card = await findObject(db, 'payment_method', id)
  return card !== null && wasEnteredOn(card, sessionId) ? card : null
}

function redirectBack(reply: FastifyReply, { id, return_url: returnUrl }: CheckoutSession): FastifyReply {
  return reply.redirect(new URL(returnUrl.replaceAll('{CHECKOUT_SESSION_ID}', id)).href, 303)
}
