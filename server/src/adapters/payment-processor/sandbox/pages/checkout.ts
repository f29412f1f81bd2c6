import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Stripe } from 'stripe'
import { createMethod } from '../payment-methods.ts'
import { answerSetupIntent, completeSession, confirmSetupIntent } from '../setup.ts'
import { getObject } from '../store.ts'
import type { Step } from '../store.ts'
import { cardInputs, isEnteredCard, parseCard, prefill, readCardFields, testCardList } from './card-form.ts'
import type { CardFields, CardProblems, EnteredCard } from './card-form.ts'
import { PageError, findBySecret, formOf, pathOf, show } from './context.ts'
import type { PageContext } from './context.ts'
import { html } from './html.ts'

type Session = Stripe.Checkout.Session

/** Where a person enters a card to be saved, and answers when the card's bank asks. */
export function checkoutPages(app: FastifyInstance, context: PageContext): void {
  const { engine } = context

  async function findOpenSession(request: FastifyRequest): Promise<Session> {
    const session = await findBySecret(context, 'checkout.session', request)
    if (
      session.status === 'expired' ||
      (session.status === 'open' && session.expires_at * 1000 <= engine.clock().getTime())
    ) {
      throw new PageError(410, 'This page has expired', 'Go back to billing and begin again.')
    }
    return session
  }

  app.get('/checkout/:secret', { schema: { hide: true } }, async (request, reply) => {
    const session = await findOpenSession(request)
    if (session.status === 'complete') return leave(reply, session)
    const { card } = request.query as { card?: string }
    return showForm(request, reply, prefill(card, engine.clock()), {}, null)
  })

  app.post('/checkout/:secret', { schema: { hide: true } }, async (request, reply) => {
    const session = await findOpenSession(request)
    const fields = readCardFields(formOf(request))
    const entered = parseCard(fields, engine.clock())
    if (!isEnteredCard(entered)) return showForm(request, reply, fields, entered, null)
    const intent = await engine.run((step) => saveCard(step, session.id, entered))
    if (intent.status === 'requires_action') return reply.redirect(`${pathOf(request)}/consent`, 303)
    if (intent.status === 'succeeded') return leave(reply, session)
    return showForm(request, reply, fields, {}, intent.last_setup_error?.message ?? 'Your card was declined.')
  })

  app.get('/checkout/:secret/consent', { schema: { hide: true } }, async (request, reply) => {
    const session = await findOpenSession(request)
    if (session.status === 'complete') return leave(reply, session)
    const intent = await getObject(engine.db, 'setup_intent', session.setup_intent as string)
    if (intent.status !== 'requires_action') return reply.redirect(formPath(request), 303)
    return show(
      context,
      reply,
      'Your bank asks',
      consentPage(pathOf(request), 'save this card for later payments'),
    )
  })

  app.post('/checkout/:secret/consent', { schema: { hide: true } }, async (request, reply) => {
    const session = await findOpenSession(request)
    const consents = formOf(request).answer === 'yes'
    const message = await engine.run(async (step) => {
      const current = await getObject(step.db, 'checkout.session', session.id)
      const intent = await getObject(step.db, 'setup_intent', session.setup_intent as string)
      if (current.status !== 'open' || intent.status !== 'requires_action') return null
      const answered = await answerSetupIntent(step, intent, consents)
      if (answered.status === 'succeeded') await completeSession(step, current)
      return answered.last_setup_error?.message ?? null
    })
    if (message === null) return leave(reply, session)
    return showForm(request, reply, prefill(undefined, engine.clock()), {}, message)
  })

  function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    fields: CardFields,
    problems: CardProblems,
    refusal: string | null,
  ): FastifyReply {
    const address = formPath(request)
    const isWrong = refusal !== null || Object.keys(problems).length > 0
    const body = html`<section>
        <h1>Save a card</h1>
        <p class="soft">It is charged for what you use at the end of each month.</p>
        ${refusal !== null && html`<p class="alert" role="alert">${refusal}</p>`}
        <form method="post" action="${address}" novalidate>
          ${cardInputs(fields, problems)} <button class="wide">Save card</button>
        </form>
      </section>
      ${testCardList(address)}
      <p><a href="/billing">Back to billing without a card</a></p>`
    return show(context, reply, 'Save a card', body, isWrong ? 422 : 200)
  }
}

/** Saves a card in a session that is still open; a second click finds it done. */
async function saveCard(step: Step, sessionId: string, entered: EnteredCard): Promise<Stripe.SetupIntent> {
  const session = await getObject(step.db, 'checkout.session', sessionId)
  const intent = await getObject(step.db, 'setup_intent', session.setup_intent as string)
  if (session.status !== 'open') return intent
  const method = await createMethod(step, entered.card, entered)
  const confirmed = await confirmSetupIntent(step, intent, method, null)
  if (confirmed.status === 'succeeded') await completeSession(step, session)
  return confirmed
}

/** What stands in for the page of the bank that issued the card. */
export function consentPage(address: string, purpose: string, hidden: Record<string, string> = {}) {
  return html`<section>
    <h1>Your bank asks</h1>
    <p>Do you agree to ${purpose}? With a real card, your bank would ask you here, in its own way.</p>
    <form method="post" action="${address}">
      ${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      <div class="actions">
        <button name="answer" value="yes">Yes, it is me</button>
        <button class="quiet" name="answer" value="no">No</button>
      </div>
    </form>
  </section>`
}

/** Back to where the person came from, with the session's id where it was asked for. */
function leave(reply: FastifyReply, session: Session): FastifyReply {
  const address = (session.return_url ?? '/').replaceAll('{CHECKOUT_SESSION_ID}', session.id)
  return reply.redirect(new URL(address).href, 303)
}

function formPath(request: FastifyRequest): string {
  return pathOf(request).replace(/\/consent$/, '')
}
