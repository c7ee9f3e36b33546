export { default } from './Jobs.svelte';
