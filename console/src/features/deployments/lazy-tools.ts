import { lazyPart } from '../../routing/lazy-part.ts'

const load = () => import('./list-tools.ts')

export const BulkBar = lazyPart(() => load().then((tools) => tools.BulkBar))
export const ListFilters = lazyPart(() => load().then((tools) => tools.ListFilters))
export const ListStrip = lazyPart(() => load().then((tools) => tools.ListStrip))
export const RecentRequests = lazyPart(() => load().then((tools) => tools.RecentRequests))
export const SelectAll = lazyPart(() => load().then((tools) => tools.SelectAll))
export const SelectBox = lazyPart(() => load().then((tools) => tools.SelectBox))
