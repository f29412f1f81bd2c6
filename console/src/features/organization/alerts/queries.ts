import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query'
import type { Webhook, WebhookAlert } from '../../../contract.ts'
import { ApiError, callApi } from '../../../api/client.ts'

/** The webhook of the organization, or null; requires the `updateOrganization` permission. */
export const webhookQuery = queryOptions({
  queryKey: ['organization', 'webhook'],
  queryFn: async ({ signal }): Promise<Webhook | null> => {
    try {
      return await callApi('GET', '/v1/organization/alert-webhook', { signal })
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null
      throw error
    }
  },
  refetchInterval: ({ state }) => pollInterval(state.data?.last_alert),
})

/** The first attempt takes a moment; the pauses between the next ones are longer each time. */
function pollInterval(alert: WebhookAlert | null | undefined): number | false {
  if (alert?.status !== 'pending') return false
  return alert.error === null ? 1_000 : 10_000
}

/** Reloads the webhook, also after errors, because another admin may have removed it. */
function useReloadWebhook() {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: webhookQuery.queryKey })
}

/** Sets the URL. Reports a new webhook's secret, sent only once, even after the form has closed. */
export function useUpdateWebhook(onNewSecret: (secret: string) => void) {
  const reload = useReloadWebhook()
  return useMutation({
    mutationFn: (url: string) => callApi('PATCH', '/v1/organization/alert-webhook', { body: { url } }),
    onSuccess: ({ secret }) => {
      if (secret !== null) onNewSecret(secret)
      void reload()
    },
  })
}

/** Replaces the signing secret. Reports the new one even after the dialog has closed. */
export function useReplaceSecret(onNewSecret: (secret: string) => void) {
  const reload = useReloadWebhook()
  return useMutation({
    mutationFn: () => callApi('POST', '/v1/organization/alert-webhook/secret'),
    onSuccess: ({ secret }) => onNewSecret(secret),
    onSettled: () => void reload(),
  })
}

/** Sends a test alert. The webhook's last alert then tells the outcome. */
export function useTestWebhook() {
  const reload = useReloadWebhook()
  return useMutation({
    mutationFn: () => callApi('POST', '/v1/organization/alert-webhook/test'),
    onSettled: reload,
  })
}

/** Removes the webhook and drops its undelivered alerts. */
export function useDeleteWebhook() {
  const reload = useReloadWebhook()
  return useMutation({
    mutationFn: () => callApi('DELETE', '/v1/organization/alert-webhook'),
    onSettled: reload,
  })
}
