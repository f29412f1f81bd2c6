import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { callApi } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { useToasts } from '../../components/toast.tsx'
import { useOpenOrganization } from '../../domain/session/organizations.ts'
import { notifyOtherTabs } from '../../domain/session/other-tabs.ts'
import { text } from '../../text/index.ts'

const domainOfferQuery = queryOptions({
  queryKey: ['domain-offer'],
  queryFn: ({ signal }) => callApi('GET', '/v1/user/domain-organization', { signal }),
})

/** The organization that the person may join by the domain of their address; null without one. */
export function useDomainOffer() {
  return useQuery(domainOfferQuery).data?.offer ?? null
}

/** A row that offers to join it. */
export function DomainOffer({ offer }: { offer: NonNullable<ReturnType<typeof useDomainOffer>> }) {
  const toasts = useToasts()
  const open = useOpenOrganization()
  const join = useMutation({
    mutationFn: () => callApi('POST', '/v1/user/domain-organization'),
    onSuccess: async () => {
      notifyOtherTabs('switched')
      await open()
      toasts.success(text.shell.switchedTo(offer.organization))
    },
    onError: toasts.error,
  })
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 px-5 py-4">
      <div className="grid min-w-0 gap-0.5">
        <p className="font-medium break-words">{offer.organization}</p>
        <p className="text-[0.8125rem] text-muted">
          {text.profile.domainOffer(offer.domain, text.shell.role[offer.role])}
        </p>
      </div>
      <Button
        size="small"
        aria-label={text.profile.joinOrganization(offer.organization)}
        busy={join.isPending}
        onClick={() => join.mutate()}
      >
        {text.profile.join}
      </Button>
    </li>
  )
}
