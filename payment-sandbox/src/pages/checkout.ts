import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { attachCard, declined } from '../cards.ts'
import type { CheckoutSession } from '../object-types.ts'
import { getObject, saveObject } from '../objects.ts'
import { completeSession } from '../sessions.ts'
import type { Change } from '../store.ts'
import { testCardOf } from '../test-cards.ts'
import { cardInputs, testCardList } from './card-form.ts'
import { findSubmittedCard, firstState, isInvalid, submitCard } from './card-flow.ts'
import type { CardFormState, CardResult, SubmittedCard } from './card-flow.ts'
import { PageError, findBySecret, pathOf, show } from './context.ts'
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
    return showForm(request, reply, firstState(context, request))
  })

  app.post('/checkout/:secret', { schema: { hide: true } }, async (request, reply) => {
    const session = await findSession(request)
    return submitCard(context, request, reply, {
      purpose: 'save this card for later payments',
      use: (change, submitted) => saveCard(change, session.id, submitted),
      showForm: (state) => showForm(request, reply, state),
      done: () => redirectBack(reply, session),
    })
  })

  function showForm(request: FastifyRequest, reply: FastifyReply, state: CardFormState): FastifyReply {
    const { fields, problems, refusal } = state
    const path = pathOf(request)
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
    return show(context, reply, 'Save a card', body, isInvalid(state) ? 422 : 200)
  }
}

/** Saves a card unless the session is complete. */
async function saveCard(change: Change, sessionId: string, submitted: SubmittedCard): Promise<CardResult> {
  const session = await getObject(change.db, 'checkout.session', sessionId)
  if (session.status !== 'open') return { outcome: 'done' }
  const card = await findSubmittedCard(change, submitted, sessionId, null)
  const { setup } = card === null ? { setup: 'declines' } : testCardOf(card)
  if (card === null || setup === 'declines') return { outcome: 'refused', message: declined.message }
  if (setup === 'asks') {
    if (submitted.answer === undefined) return { outcome: 'asks', cardId: card.id }
    if (submitted.answer === 'no') {
      const message = 'Your bank did not approve the card. Try again, or use another card.'
      return { outcome: 'refused', message }
    }
    await saveObject(change, { ...card, metadata: { ...card.metadata, verified: 'yes' } })
  }
  await attachCard(change, card.id, session.customer)
  await completeSession(change, session, card.id)
  return { outcome: 'done' }
}

function redirectBack(reply: FastifyReply, { id, return_url: returnUrl }: CheckoutSession): FastifyReply {
  return reply.redirect(new URL(returnUrl.replaceAll('{CHECKOUT_SESSION_ID}', id)).href, 303)
}
