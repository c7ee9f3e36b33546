export { default } from './Model.svelte';
