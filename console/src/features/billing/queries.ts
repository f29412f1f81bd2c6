import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type {
  CheckoutSession,
  CollectionMethodInput,
  PaymentMethod,
  SetupSessionRequestInput,
} from '../../contract.ts'
import { ApiError, callApi } from '../../api/client.ts'

const cardsKey = ['billing', 'payment-methods']

export const cardsQuery = queryOptions({
  queryKey: cardsKey,
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/payment-methods', { signal }),
  // The server makes the only card the default as soon as the payment processor has reported it.
  refetchInterval: ({ state: { data } }) => (data?.length === 1 && !data[0]?.is_default ? 2_000 : false),
})

/** The invoices, newest first. */
export const invoicesQuery = queryOptions({
  queryKey: ['billing', 'invoices'],
  queryFn: ({ signal }) => callApi('GET', '/v1/billing/invoices', { signal }),
  refetchInterval: 60_000,
})

/** Invalidates all billing queries, because most billing changes affect several of them. */
function useRefreshBilling() {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: ['billing'] })
}

/** Activates postpaid billing with a card. */
export function useActivatePostpaid() {
  const refresh = useRefreshBilling()
  return useMutation({
    mutationFn: (cardId: string) =>
      callApi('POST', '/v1/billing/subscription/activate-postpaid', {
        body: { processor_payment_method_id: cardId },
      }),
    onSuccess: refresh,
  })
}

/** Sets whether invoices are charged to the card or sent. */
export function useUpdateCollectionMethod() {
  const refresh = useRefreshBilling()
  return useMutation({
    mutationFn: (method: CollectionMethodInput['collection_method']) =>
      callApi('PATCH', '/v1/billing/subscription/collection-method', {
        body: { collection_method: method },
      }),
    onSuccess: refresh,
  })
}

/** Makes a card the default, with an optimistic update. */
export function useUpdateDefaultCard() {
  const queryClient = useQueryClient()
  const refresh = useRefreshBilling()
  return useMutation({
    mutationFn: ({ id }: PaymentMethod) =>
      callApi('PATCH', '/v1/billing/payment-methods/default', {
        body: { processor_default_payment_method_id: id },
      }),
    onMutate: async ({ id }) => {
      await queryClient.cancelQueries({ queryKey: cardsKey })
      const before = queryClient.getQueryData(cardsQuery.queryKey)
      queryClient.setQueryData(cardsQuery.queryKey, (cards) =>
        cards?.map((card) => ({ ...card, is_default: card.id === id })),
      )
      return before
    },
    onError: (_error, _card, before) => queryClient.setQueryData(cardsQuery.queryKey, before),
    onSettled: refresh,
  })
}

export function useRemoveCard() {
  const queryClient = useQueryClient()
  const refresh = useRefreshBilling()
  return useMutation({
    mutationFn: ({ id }: PaymentMethod) =>
      callApi('DELETE', '/v1/billing/payment-methods/{payment_method_id}', {
        path: { payment_method_id: id },
      }),
    onSuccess: async (_nothing, { id }) => {
      queryClient.setQueryData(cardsQuery.queryKey, (cards) => cards?.filter((card) => card.id !== id))
      await refresh()
    },
  })
}

/** Creates a session to enter a card. The payment processor redirects back to `returnPath` of the console. */
export function createSetupSession(
  purpose: NonNullable<SetupSessionRequestInput['purpose']>,
  returnPath: string,
): Promise<CheckoutSession> {
  return withReturnUrl(returnPath, (return_url) =>
    callApi('POST', '/v1/billing/checkout/setup-session', { body: { purpose, return_url } }),
  )
}

/** Returns the URL of the payment processor's billing portal. */
export async function createPortalSession(returnPath: string): Promise<string> {
  const { url } = await withReturnUrl(returnPath, (return_url) =>
    callApi('POST', '/v1/billing/portal/session', { body: { return_url } }),
  )
  return url
}

/** The server accepts only return URLs under PUBLIC_URL; elsewhere sends none, for the server's default. */
async function withReturnUrl<Result>(
  path: string,
  ask: (returnUrl: string | undefined) => Promise<Result>,
): Promise<Result> {
  try {
    return await ask(new URL(path, location.origin).href)
  } catch (error) {
    if (!(error instanceof ApiError) || error.fields.return_url === undefined) throw error
    return ask(undefined)
  }
}
