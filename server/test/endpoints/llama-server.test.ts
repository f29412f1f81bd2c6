import { playEndpoint } from './play-endpoint.ts'
import { startLlamaServers } from './real-server.ts'

playEndpoint('llama-server', startLlamaServers)
